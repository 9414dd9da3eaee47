"""Expressions: each becomes nodes at the end of the current block, and a value."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.core.dtype import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from rushlight.jit.compiler import callstack
from rushlight.jit.compiler.values import Builtin, Items, Known, Method, Missing, Overloaded, Space
from rushlight.jit.frontend import NotSupportedError, Source, UnsupportedNodeError
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Block, Function, Node, Value
from rushlight.jit.program.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    FUNCTION,
    INT,
    NUMBER,
    STR,
    TENSOR,
    ClassType,
    Type,
    list_of,
    of_value,
    subtype,
    unify,
    union,
)

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "remainder",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
}
# What Python calls the methods of classes that are asked for some of these.
_PYTHON = {"div": "truediv", "remainder": "mod"}
_COMPARE = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.Gt: "gt",
    ast.LtE: "le",
    ast.GtE: "ge",
    ast.Is: "__is__",
    ast.IsNot: "__isnot__",
    ast.In: "__contains__",
    ast.NotIn: "__contains__",
}
_UNARY = {ast.USub: "neg", ast.Not: "__not__", ast.Invert: "bitwise_not"}
# Attributes that are ops.
PROPERTIES = {
    "dtype": "prim::dtype",
    "device": "prim::device",
    "shape": "aten::size",
    "T": "aten::numpy_T",
    "requires_grad": "prim::requires_grad",
    "is_cuda": "prim::is_cuda",
    "data": "prim::data",
    "ndim": "aten::dim",
    "layout": "prim::layout",
    "is_sparse": "prim::is_sparse",
    "H": "aten::matrix_H",
    "mT": "aten::mT",
    "mH": "aten::mH",
    "is_meta": "prim::is_meta",
    "grad": "prim::grad",
    "real": "aten::real",
    "imag": "aten::imag",
    "itemsize": "prim::itemsize",
    "is_leaf": "aten::is_leaf",
    "retains_grad": "aten::retains_grad",
    **{
        f"is_{name}": f"prim::is_{name}"
        for name in ("cpu", "mps", "xla", "xpu", "ipu", "mkldnn", "quantized", "sparse_csr", "vulkan", "mtia")
    },
}
# Methods that convert to a dtype: aten::to, to that one.
_DTYPES = {
    "float": float32,
    "double": float64,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
    "char": int8,
    "byte": uint8,
    "bfloat16": bfloat16,
    "bool": bool_,
    "cfloat": complex64,
    "cdouble": complex128,
}
# A type that is found when the first value comes.
OPEN = Type("open")
_IMPLICIT = {
    INT: "aten::IntImplicit",
    FLOAT: "aten::FloatImplicit",
    NUMBER: "aten::ScalarImplicit",
    COMPLEX: "aten::ComplexImplicit",
}


_OF_NUMBERS = {INT: "aten::Int", FLOAT: "aten::Float", COMPLEX: "aten::Complex"}


def turns(value: Value, wanted: Type) -> str:
    """The op that makes a tensor, or a number of any kind, a number of one kind; empty where none does."""
    if value.type == TENSOR:
        return _IMPLICIT.get(wanted, "")
    return _OF_NUMBERS.get(wanted, "") if value.type == NUMBER else ""


class Expressions:
    """The compiler's part for expressions. `names` resolves what is no variable; `source` is for errors."""

    def __init__(self, function: Function, names: Any, source: Source) -> None:
        self.function, self.names, self.source = function, names, source
        self.block: Block = function.block
        self.env: dict[str, Any] = {}
        # What the variables were where the block that is being compiled begins; empty in a function's own.
        self.around: dict[str, Any] = {}
        # The assignments of which calls are the values: errors of what these call show all of them.
        self.assignments: dict[Any, Any] = {}
        self.around_if: dict[str, Any] = {}  # the same of the if in which that block is
        self.said: dict[str, Type] = {}  # the types of variables that are written down
        self.annotated = False  # whether the type that an expression is to have was written down

    def error(self, node: Any, message: str) -> RuntimeError:
        """The error of a node."""
        return RuntimeError(f"\n{message}:\n{self.source.show(node)}{callstack.call_chain()}")

    def emit(self, node: Any, kind: str, inputs: Sequence[Value] = (), *types: Type, **attrs: Any) -> Node:
        """A new node at the end of the current block."""
        if kind == "prim::RaiseException":
            attrs["shown"] = self.source.raised(node, self.function.name)
        return self.block.add(kind, inputs, types, place=self.source.place(node), **attrs)

    def constant(self, node: Any, value: Any, t: Type | None = None) -> Value:
        """A value that is known now."""
        if isinstance(value, (list, tuple, dict)):
            return self.pack(node, value)
        return self.emit(node, "prim::Constant", (), t or of_value(value), value=value).output

    def pack(self, node: Any, value: Any) -> Value:
        """A list, tuple or dict of constants."""
        t = of_value(value)
        if isinstance(value, dict):
            flat = [self.constant(node, x) for pair in value.items() for x in pair]
            return self.emit(node, "prim::DictConstruct", flat, t).output
        kind = "prim::ListConstruct" if isinstance(value, list) else "prim::TupleConstruct"
        return self.emit(node, kind, [self.constant(node, x) for x in value], t).output

    # --- values ---------------------------------------------------------------------------------

    def expr(self, node: Any, wanted: Type | None = None) -> Value:
        """The value of an expression; `wanted` is the type that an empty list takes."""
        return self.value(self.sugar(node, wanted), node)

    def value(self, found: Any, node: Any) -> Value:
        """What a name stands for, as a value of the program."""
        if isinstance(found, Value):
            return found
        if isinstance(found, Missing):
            raise RuntimeError(
                f"\n\n{found.message}:\n{found.place}and was used here:\n{self.source.show(node)}"
                f"{callstack.call_chain()}"
            )
        if isinstance(found, Items):
            values = [self.value(x, node) for x in found.items]
            return self.emit(
                node, "prim::TupleConstruct", values, Type("Tuple", tuple(v.type for v in values))
            ).output
        if isinstance(found, Known):
            with contextlib.suppress(TypeError):
                return self.constant(node, *self.names.plain(found.object))
            raise self.error(
                node,
                f"python value of type '{type(found.object).__name__}' cannot be used as a value. Perhaps it "
                "is a closed over global variable? If so, please consider passing it in as an argument or "
                "use a local variable instead.",
            )
        if isinstance(found, Function):
            return self.emit(node, "prim::Constant", (), FUNCTION, value=found).output
        raise self.error(node, f"{type(found).__name__.lower()} cannot be used as a value")

    def sugar(self, node: Any, wanted: Type | None = None) -> Any:
        """What an expression stands for."""
        method = getattr(self, f"at_{type(node).__name__}", None)
        if method is None:
            raise UnsupportedNodeError(self.source, node)
        return (
            method(node, wanted)
            if type(node) in (ast.List, ast.Dict, ast.Call, ast.IfExp, ast.ListComp)
            else method(node)
        )

    def convert(self, value: Value, wanted: Type, node: Any, message: str, implicit: bool = False) -> Value:
        """The value where `wanted` is expected; implicit: a tensor or a bool may become a number.

        The message of the error says {wanted}, and {actual} or, of what nobody said to be a tensor, {told}.
        """
        found = self.fitted(value, wanted, node, implicit)
        if wanted == OPEN or subtype(found.type, wanted):
            return found
        told = f"{value.type}{' (inferred)' * (value.inferred and value.type == TENSOR)}"
        raise self.error(node, message.format(wanted=wanted, actual=value.type, told=told))

    def fitted(self, value: Value, wanted: Type, node: Any, implicit: bool) -> Value:
        """The value as near to what is wanted as it comes: lists of tuples, numbers of tensors, devices."""
        given = value.type
        if wanted == OPEN or given == OPEN or subtype(given, wanted):
            return value
        inner = wanted.args[0] if wanted.kind == "Optional" and given.kind != "Optional" else wanted
        if given.kind == "Tuple" and inner.kind == "List":
            fits = all(subtype(t, inner.args[0]) for t in given.args)
            return self.listed(value, inner, node) if fits else value
        if not implicit:
            return value
        if given.kind == inner.kind == "Tuple" and len(given.args) == len(inner.args):
            parts = self.emit(node, "prim::TupleUnpack", [value], *given.args).outputs
            made = [self.fitted(v, t, node, implicit) for v, t in zip(parts, inner.args, strict=True)]
            return self.value(Items(made), node)
        if given == STR and inner == DEVICE:
            return self.call_builtin("aten::device", [value], {}, node)
        if given == BOOL and inner in (INT, FLOAT):
            return self.number_of(value, inner, node)
        return self.turned(value, inner, node)

    def turned(self, value: Value, wanted: Type, node: Any) -> Value:
        """A tensor or a number of any kind as a number of one kind, where an op or a function takes that."""
        kind = turns(value, wanted)
        if not kind:
            return value
        fitting = [s for s in schemas.named(kind) if s.parameters[0].type == value.type]
        return self.emit(node, kind, [value], wanted, schema=fitting[0]).output

    def number_of(self, flag: Value, wanted: Type, node: Any) -> Value:
        """A bool as a number: 0 or 1."""
        return self.call_builtin("aten::Float" if wanted == FLOAT else "aten::Int", [flag], {}, node)

    def listed(self, value: Value, wanted: Type, node: Any) -> Value:
        """A tuple as a list."""
        parts = self.emit(node, "prim::TupleUnpack", [value], *value.type.args).outputs
        return self.emit(node, "prim::ListConstruct", parts, wanted).output

    # --- atoms ----------------------------------------------------------------------------------

    def at_Constant(self, node: ast.Constant) -> Any:
        """A literal as a prim::Constant; an error for `...` and bytes."""
        if node.value is Ellipsis or isinstance(node.value, bytes):
            raise self.error(node, f"{node.value!r} is not supported as a value")
        if type(node.value) is int and node.value >= 1 << 63:
            raise self.error(node, "Integral constant out of range (must fit in a signed 64 bit integer)")
        return self.constant(node, node.value)

    def at_Name(self, node: ast.Name) -> Any:
        """A name: a local, else what the function's globals say; an error where neither knows it."""
        found = self.env.get(node.id)
        if found is None:
            found = self.names.lookup(node.id, node, self)
        if found is None:
            raise self.error(node, f"undefined value {node.id}")
        if isinstance(found, Missing):
            self.value(found, node)
        return found

    def at_Attribute(self, node: ast.Attribute) -> Any:
        """`value.name`: an attribute, a method or what a module of Python has."""
        return self.attribute(self.sugar(node.value), node.attr, node)

    def attribute(self, base: Any, name: str, node: Any) -> Any:
        """What base.name stands for."""
        if isinstance(base, (Known, Space)):
            return self.names.member(base, name, node, self)
        if isinstance(base, (Builtin, Function, Method)):
            kind = "function" if isinstance(base, Function) else type(base).__name__.lower()
            raise self.error(node, f"attribute lookup is not defined on {kind}")
        value = self.value(base, node)
        if value.type.kind == "Await":  # what it has is its result's
            value = self.call_builtin("prim::awaitable_wait", [value], {}, node)
        if value.type.kind == "Class":
            return self.member(value, value.type.cls, name, node)
        return self.value_attribute(value, name, node)

    def value_attribute(self, value: Value, name: str, node: Any) -> Any:
        """What value.name stands for, of a tensor, tuple, list, number or text."""
        t = value.type
        if t.kind == "Tuple" and t.cls is not None and name in t.cls._fields:
            return self.tuple_item(value, t.cls._fields.index(name), node)
        if t.kind == "Enum" and name in ("name", "value"):
            return self.emit(
                node, f"prim::Enum{name.capitalize()}", [value], of_value(getattr(next(iter(t.cls)), name))
            ).output
        fields = value.node.attrs.get("fields", ()) if value.node is not None else ()
        if t.kind == "Tuple" and name in fields:
            return self.tuple_item(value, fields.index(name), node)
        if t == TENSOR and name in PROPERTIES:
            return self.call_builtin(PROPERTIES[name], [value], {}, node)
        if t == TENSOR and name == "tolist":
            return Builtin("prim::tolist", (value,))
        if t == TENSOR and name in _DTYPES:
            return Builtin("aten::to", (value, self.constant(node, _DTYPES[name])))
        if t == TENSOR and name == "type":
            return Builtin("aten::to", (value,))
        if any(t == TENSOR or _of_self(schema, t) for schema in schemas.named(f"aten::{name}")):
            return Builtin(f"aten::{name}", (value,))
        if schemas.named(f"prim::{name}") and t.kind == "Device":
            return self.call_builtin(f"prim::{name}", [value], {}, node)
        shown = "Tensor (inferred)" if t == TENSOR else str(t)
        raise self.error(node, f"'{shown}' object has no attribute or method '{name}'.")

    def member(self, value: Value, owner: ClassType, name: str, node: Any) -> Any:
        """An attribute or method of a class's or module's value."""
        if name in owner.fields:
            made = self.emit(node, "prim::GetAttr", [value], owner.fields[name], name=name).output
            made.hint = name
            return made
        if name in owner.constants:
            return self.names.constant(owner.constants[name], node, self)
        if name in owner.overloads:
            return Overloaded([owner.method(one) for one in owner.overloads[name]], value)
        if owner.method(name) is not None:
            return Method(value, owner, name)
        return self.names.outside(value, owner, name, node, self)

    def tuple_item(self, value: Value, index: int, node: Any) -> Value:
        """An element of a tuple."""
        count = len(value.type.args)
        if not -count <= index < count:
            raise self.error(node, f"Tuple index out of range: got {index} for a tuple of {count}")
        if value.node is not None and value.node.kind == "prim::TupleConstruct":
            return value.node.inputs[index]
        place = self.constant(node, index)
        return self.emit(node, "prim::TupleIndex", [value, place], value.type.args[index]).output

    def parts(self, value: Value, count: int, node: Any) -> list[Value]:
        """The elements of a tuple, or of a list of `count`."""
        if value.type.kind != "Tuple":
            return self.emit(node, "prim::ListUnpack", [value], *value.type.args * count).outputs
        if value.node is not None and value.node.kind == "prim::TupleConstruct":
            return value.node.inputs
        return self.emit(node, "prim::TupleUnpack", [value], *value.type.args).outputs

    # --- operators ------------------------------------------------------------------------------

    def at_BinOp(self, node: ast.BinOp) -> Any:
        """`a + b`, and `text % values` as aten::percentFormat."""
        left = self.expr(node.left)
        if left.type == STR and isinstance(node.op, ast.Mod):
            right = self.sugar(node.right)
            parts = (
                [self.tuple_item(right, i, node) for i in range(len(right.type.args))]
                if isinstance(right, Value) and right.type.kind == "Tuple"
                else [self.value(right, node)]
            )
            return self.emit(node, "aten::percentFormat", [left, *parts], STR).output
        return self.binary(node.op, left, self.expr(node.right), node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: Any, inplace: bool = False) -> Value:
        """left op right."""
        name = BINARY.get(type(op))
        if name is None:
            raise UnsupportedNodeError(self.source, node)
        if name == "floordiv" and left.type == TENSOR:
            name = "floor_divide"
        if (inplace and left.type == TENSOR and schemas.named(f"aten::{name}_")) or (
            inplace and left.type.kind == "List" and name == "add"
        ):
            name += "_"
        if left.type.kind == "Class":
            plain = _PYTHON.get(name, name.strip("_"))
            for own in (f"__i{plain}__", f"__{plain}__")[not inplace :]:
                found = self.own(left, own, [right], node)
                if found is not None:
                    return found
            if inplace:
                raise self.error(
                    node,
                    f"Cannot emit inplace op on {left.type} since it does not define an __i{plain}__ or "
                    f"__{plain}__ method",
                )
        if left.type.kind == right.type.kind == "Tuple" and name == "add":
            both = [self.tuple_item(v, i, node) for v in (left, right) for i in range(len(v.type.args))]
            return self.value(Items(both), node)
        return self.value(self.call_builtin(f"aten::{name}", [left, right], {}, node), node)

    def own(self, value: Value, name: str, args: list[Any], node: Any) -> Value | None:
        """What a method with underscores gives that the class of an object has; None where it has none."""
        if value.type.kind != "Class" or value.type.cls.method(name) is None:
            return None
        return self.value(self.call_method(Method(value, value.type.cls, name), args, {}, node), node)

    def at_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """`not`, `-`, `~`; a literal's sign becomes part of the literal."""
        if isinstance(node.op, ast.UAdd):
            return self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            known, _, _ = self.test(node)
            return self.constant(node, known) if isinstance(known, bool) else known
        if isinstance(node.op, ast.USub) and _is_least(node.operand):
            return self.constant(node, -1 << 63)
        value = self.expr(node.operand)
        if (
            isinstance(node.op, ast.USub)
            and value.node
            and value.node.kind == "prim::Constant"
            and value.type in (INT, FLOAT, COMPLEX)
        ):
            return self.constant(node, -value.node.attrs["value"])
        own = self.own(value, "__neg__" if isinstance(node.op, ast.USub) else "__invert__", [], node)
        return own or self.call_builtin(f"aten::{_UNARY[type(node.op)]}", [value], {}, node)

    def at_Compare(self, node: ast.Compare) -> Any:
        """A comparison; `a < b < c` as `a < b and b < c`."""
        if len(node.ops) > 1:
            parts = [
                ast.copy_location(ast.Compare(a, [op], [b]), node)
                for a, op, b in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
            ]
            return self.at_BoolOp(ast.copy_location(ast.BoolOp(ast.And(), [*parts]), node))
        return self.compare(node, self.expr(node.left))

    def compare(self, node: ast.Compare, left: Value) -> Value:
        """One comparison."""
        op, right = node.ops[0], self.expr(node.comparators[0])
        if isinstance(op, (ast.In, ast.NotIn)):
            left, right = right, left
            if left.type.kind == "Class" and self.names.by_name(left.type.cls):
                named = right.node.attrs.get("value") if right.node is not None else None
                there = named in self.names.entries(left, node, self)
                return self.constant(node, there is isinstance(op, ast.In))
            if left.type.kind == "Class":
                inside = self.call_method(Method(left, left.type.cls, "__contains__"), [right], {}, node)
                turned = isinstance(op, ast.NotIn)
                return self.call_builtin("aten::__not__", [inside], {}, node) if turned else inside
        if left.type.kind == right.type.kind == "Enum" and left.type != right.type:
            kind = f"aten::{_COMPARE[type(op)]}"
            schema = next((s for s in schemas.named(kind) if s.overload == "enum"), None)
            if schema is None:
                return self.constant(node, not isinstance(op, (ast.Eq, ast.Is)))
            return self.emit(node, kind, [left, right], BOOL, schema=schema).output
        if not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            own = self.own(left, f"__{_COMPARE[type(op)]}__", [right], node)
            if own is not None:
                return own
        if left.type.kind == right.type.kind == "Tuple" and isinstance(op, (ast.Eq, ast.NotEq)):
            left, right = (self.listed(v, list_of(v.type.args[0]), node) for v in (left, right))
        found: Value = self.call_builtin(f"aten::{_COMPARE[type(op)]}", [left, right], {}, node)
        if isinstance(op, ast.NotIn):
            found = self.call_builtin("aten::__not__", [found], {}, node)
        return found

    def truth(self, value: Value, node: Any) -> Value:
        """A value as a condition."""
        if value.type == BOOL:
            return value
        if value.type.kind == "Class" and value.type.cls.method("__bool__") is not None:
            found = self.call_method(Method(value, value.type.cls, "__bool__"), [], {}, node)
            if found.type != BOOL:
                raise self.error(node, f"expected a bool expression for condition but found {found.type}")
            return found
        if value.type.kind in ("List", "Dict", "str"):
            size = self.call_builtin("aten::len", [value], {}, node)
            return self.call_builtin("aten::gt", [size, self.constant(node, 0)], {}, node)
        try:
            return self.call_builtin("aten::Bool", [value], {}, node)
        except RuntimeError:
            raise self.error(node, f"Could not cast value of type {value.type} to bool") from None

    # --- containers -----------------------------------------------------------------------------

    def at_Tuple(self, node: ast.Tuple) -> Any:
        """A tuple: a value, or Items where a part has no type of its own."""
        items = [x for e in node.elts for x in self.spread(e)]
        return self.value(Items(items), node) if all(isinstance(x, Value) for x in items) else Items(items)

    def spread(self, node: Any) -> list[Any]:
        """What an element of a tuple or an argument stands for; several where it is *args."""
        if not isinstance(node, ast.Starred):
            return [self.sugar(node)]
        found = self.sugar(node.value)
        if isinstance(found, Items):
            return found.items
        if found.type.kind != "Tuple":
            raise self.error(node, "cannot statically infer the expected size of a list in this context")
        return [self.tuple_item(found, i, node) for i in range(len(found.type.args))]

    def at_List(self, node: ast.List, wanted: Type | None = None) -> Any:
        """A list of one type, the annotated one where `wanted` says one."""
        self.refuse_list(node, wanted)
        inner = wanted.args[0] if wanted and wanted.kind == "List" else None
        return self.list_value([self.expr(e, inner) for e in node.elts], node, inner)

    def refuse_list(self, node: Any, wanted: Type | None) -> None:
        """Raise for a list where an annotation says something else."""
        if wanted and wanted.kind in ("int", "float", "bool", "str", "Tensor", "Dict") and self.annotated:
            raise self.error(node, f"Expected an annotation of type List but got {wanted}")

    def list_value(self, values: list[Value], node: Any, inner: Type | None) -> Value:
        """A list of values of one type."""
        t: Type | None = inner or (values[0].type if values else TENSOR)
        for value in values:
            t = (t if inner and subtype(value.type, inner) else unify(t, value.type)) if t else None
        if t is None and inner is None:  # of several types
            t = union(v.type for v in values)
        if t is None:
            whole = union(v.type for v in values)
            raise self.error(
                node,
                f"List type annotation `List[{inner}]` did not match the types of the given list elements, "
                f"which were unified to {whole}",
            )
        return self.emit(node, "prim::ListConstruct", values, list_of(t)).output

    def at_Dict(self, node: ast.Dict, wanted: Type | None = None) -> Any:
        """A dict of one type of keys and one of values; an error for others."""
        pair = wanted.args if wanted and wanted.kind == "Dict" else None
        keys = [self.expr(k) for k in node.keys]
        values = [self.expr(v, pair[1] if pair else None) for v in node.values]
        types = pair or ((keys[0].type, values[0].type) if keys else (STR, TENSOR))
        for key, place in zip(keys, node.keys, strict=True):
            if pair and not subtype(key.type, pair[0]):
                told = f"but the type of keys given by the dict literal is {key.type}"
                raise self.error(node, f"Type annotation was inferred to be {wanted}{told}")
            expected = "Expected: {wanted} but found {actual} instead"
            self.convert(key, types[0], place, f"Dict keys must contain only a single type. {expected}")
        for value in values:
            whole = unify(types[1], value.type) or (types[1] if pair else union((types[1], value.type)))
            types = (types[0], whole)
            found = union(v.type for v in values)
            told = f"but the type of values given by the dict literal is {found}"
            self.convert(value, types[1], node, f"Type annotation was inferred to be `{wanted}`, {told}")
        flat = [x for both in zip(keys, values, strict=True) for x in both]
        return self.emit(node, "prim::DictConstruct", flat, Type("Dict", tuple(types))).output

    def at_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """An f-string as aten::format; an error for format specifiers and conversions."""
        text, args = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value).replace("{", "{{").replace("}", "}}")
            elif isinstance(part, ast.FormattedValue):
                if part.conversion != -1 or part.format_spec is not None:
                    raise NotSupportedError(
                        self.source, node, "Format specifiers and conversions in f-strings are not supported"
                    )
                text += "{}"
                args.append(self.expr(part.value))
        return self.emit(node, "aten::format", [self.constant(node, text), *args], STR).output

    # Defined in calls.py and statements.py.

    def call_builtin(self, kind: str, args: Sequence[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """A call of an op of the table."""
        raise NotImplementedError

    def call_method(self, method: Method, args: list[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """A call of a method of a class or module."""
        raise NotImplementedError

    def choose(
        self,
        found: Value,
        yes: Callable[[], Value],
        no: Callable[[], Value],
        node: Any,
        wanted: Type | None = None,
    ) -> Value:
        """The value of one side, by a condition."""
        raise NotImplementedError

    def test(self, node: Any) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        """A condition: (its value, or a bool where it is known; types of variables if it holds, and if
        not).
        """
        raise NotImplementedError

    def at_BoolOp(self, node: ast.BoolOp) -> Any:
        """Of Conditions, below."""
        raise NotImplementedError


def _is_least(node: Any) -> bool:
    """Whether it is the number whose negative is the least integer."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 1 << 63


def _of_self(schema: schemas.Schema, t: Type) -> bool:
    """Whether an op is a method of values of a type."""
    own = next((p for p in schema.parameters if p.name == "self"), None)
    return own is not None and schemas.bind(own.type, t, {}) is not None
