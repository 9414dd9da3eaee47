"""Calls: ops by their signatures, functions and methods by their arguments, and what Python's own functions
mean.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from rushlight._engine.lazy import is_ours
from rushlight.jit.compiler import callstack
from rushlight.jit.compiler.expressions import _IMPLICIT, turns
from rushlight.jit.compiler.indexing import Indexing
from rushlight.jit.compiler.values import Builtin, Items, Known, Method, Overloaded
from rushlight.jit.frontend import FrontendError, NoForm, NotSupportedError
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Function, Value
from rushlight.jit.program.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    Type,
    list_of,
    optional,
    subtype,
)
from rushlight.nn.utils.rnn import PackedSequence

# Python's functions that are ops.
_OPS = {
    "abs": "prim::abs",
    "max": "prim::max",
    "min": "prim::min",
    "id": "prim::id",
    "complex": "aten::Complex",
    **{
        name: f"aten::{name}"
        for name in (
            "len",
            "round",
            "sorted",
            "ord",
            "chr",
            "hash",
            "hex",
            "bin",
            "oct",
            "sum",
            "divmod",
            "pow",
            "dict",
            "all",
            "any",
            "list",
        )
    },
}
# Ops of a number and a tensor are ops of the tensor, perhaps after another op of it, and the number.
_TURNED = {
    f"aten::{name}": turned
    for name, *turned in map(
        str.split,
        (
            "add add",
            "mul mul",
            "sub neg add",
            "div reciprocal mul",
            "eq eq",
            "ne ne",
            "lt gt",
            "le ge",
            "gt lt",
            "ge le",
        ),
    )
}
_LIBRARY = "__torch__.torch.nn.functional."
_CASTS = {
    "int": (INT, "aten::Int"),
    "float": (FLOAT, "aten::Float"),
    "bool": (BOOL, "aten::Bool"),
    "str": (STR, "aten::str"),
}


def _is_packed(args: list[Any]) -> bool:
    """Whether the first argument is a PackedSequence, for which recurrent modules have another forward."""
    first = args[0].type if args and isinstance(args[0], Value) else None
    return first is not None and first.cls is PackedSequence


def is_dotted(node: ast.expr) -> bool:
    """Whether it is a name, or one with dots: looking it up runs nothing."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


class Calls(Indexing):
    """The compiler's part for calls."""

    def at_Call(self, node: ast.Call, wanted: Type | None = None) -> Any:
        """A call: of a builtin op, a special form, a compiled function, a class or a module."""
        callstack.calls(self.source, self.assignments.pop(node, node))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__getitem__" and not node.keywords:
            if len(node.args) != 1:
                raise self.error(node.func, f"__getitem__ expected exactly 1 arguments, got {len(node.args)}")
            return self.sugar(ast.copy_location(ast.Subscript(node.func.value, node.args[0]), node))
        function = self.sugar(node.func)
        if isinstance(function, Known):
            name = self.names.special(function.object)
            if name is not None and hasattr(self, f"call_{name}"):
                return getattr(self, f"call_{name}")(node, wanted)
            made = self.container(function, node, wanted)
            if made is not None:
                return made
            if function.object is OrderedDict:
                function = Known(dict)  # dicts keep their order
        if isinstance(function, Builtin) and function.kind == "prim::tolist":
            return self.call_tolist(function.args[0], wanted, node)
        args = [x for a in node.args for x in self.spread(a)]
        if any(k.arg is None for k in node.keywords):
            raise NotSupportedError(self.source, node, "keyword-arg expansion is not supported")
        kwargs = {str(k.arg): self.sugar(k.value) for k in node.keywords}
        found = self.call(function, args, kwargs, node)
        if isinstance(function, Known) and function.object is dict and wanted is not None:
            self.check_dict(found, wanted, node)
        return found

    def container(self, function: Known, node: ast.Call, wanted: Type | None) -> Any:
        """list(x), dict(x) and OrderedDict(x) where they are no calls of ops; None for others."""
        kind = dict if function.object is OrderedDict else function.object
        if kind not in (list, dict):
            return None
        if not node.args and not node.keywords:
            empty: Any = ast.List([], ast.Load()) if kind is list else ast.Dict([], [])
            return self.sugar(ast.copy_location(empty, node), wanted)
        if len(node.args) != 1:
            return None
        if self.counts(node.args[0]):
            if kind is list:
                return getattr(self, "at_ListComp")(_each(node.args[0]))
            found = getattr(self, "at_DictComp")(_pairs(node.args[0]))
            self.check_dict(found, wanted or found.type, node)
            return found
        if kind is list and not isinstance(node.args[0], ast.Starred):
            return self.as_list(function, self.sugar(node.args[0]), node)
        return None

    def check_dict(self, found: Value, wanted: Type, node: Any) -> None:
        """Raise where dict(...) has keys or values of other types than its annotation says."""
        if wanted.kind == found.type.kind == "Dict":
            for what, said, actual in zip(("key", "value"), wanted.args, found.type.args, strict=True):
                if not subtype(actual, said):
                    raise self.error(
                        node,
                        f"Dict type annotation `{wanted}` did not match the type of an actual {what} type "
                        f"`{actual}`",
                    )

    def as_list(self, function: Known, given: Any, node: ast.Call) -> Any:
        """list(x): of a tensor, what a loop over it meets."""
        if not isinstance(given, Value) or given.type != TENSOR:
            return self.call(function, [given], {}, node)
        name = ast.copy_location(ast.Name("(list)", ast.Load()), node)
        self.env[name.id] = given
        try:
            return getattr(self, "at_ListComp")(_each(name))
        finally:
            self.env.pop(name.id, None)

    def counts(self, node: Any) -> bool:
        """Whether it is a call of range, enumerate or zip, which are no values but what loops go over."""
        if not isinstance(node, ast.Call) or not is_dotted(node.func):
            return False
        function = self.sugar(node.func)
        name = self.names.special(function.object) if isinstance(function, Known) else None
        return name in ("range", "enumerate", "zip")

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """What a call gives."""
        if isinstance(function, Builtin):
            return self.call_builtin(function.kind, [*function.args, *args], kwargs, node)
        if isinstance(function, Value) and function.type.kind == "Class":
            owner = function.type.cls
            name = "forward" if owner.is_module else "__call__"
            name = "_call_with_hooks" if owner.pre_hooks or owner.hooks else name
            if name == "forward" and _is_packed(args):
                name = "forward__0" if owner.method("forward__0") is not None else name
            function = self.member(function, function.type.cls, name, node)
        if isinstance(function, Method):
            return self.call_method(function, args, kwargs, node)
        if isinstance(function, Function):
            taken = self.arguments(function, function.arguments, args, kwargs, node)
            return self.emit(
                node, "prim::CallFunction", taken, self.returned(function, node), function=function
            ).output
        if isinstance(function, Overloaded):
            chosen = self.fitting(function, args, kwargs, node)
            if function.value is None or chosen.owner is None:
                return self.call(chosen, args, kwargs, node)
            return self.call_method(Method(function.value, chosen.owner, chosen.name), args, kwargs, node)
        if isinstance(function, Known):
            return self.call_known(function.object, args, kwargs, node)
        told = f" of type '{function.type}'" if isinstance(function, Value) else ""
        raise self.error(node, f"cannot call a value{told}")

    def fitting(self, overloaded: Overloaded, args: list[Any], kwargs: dict[str, Any], node: Any) -> Function:
        """The first function that takes the arguments; a default of True asks for a constant True."""
        errors = []
        library = overloaded.functions[0].qualname.startswith("__torch__.torch.")
        # One that takes them as they are comes before those that convert.
        for implicit in (True,) if library else (False, True):
            for function in overloaded.functions:
                formal = function.arguments[overloaded.value is not None :]
                given = dict(zip([name for name, _, _ in formal], args, strict=False)) | kwargs
                chosen = all(
                    _is_true(given.get(name)) is default
                    for name, _, default in formal
                    if library and name.startswith("return_") and isinstance(default, bool)
                )
                try:
                    self.arguments(function, formal, args, kwargs, node, implicit)
                except RuntimeError as error:
                    errors.append(error)
                else:
                    if chosen:
                        return function  # functions of the library
        if errors and library:
            raise errors[0]
        if errors:
            where = f":\n{self.source.show(node)}"
            tried = dict.fromkeys(str(error).partition(where)[0].strip("\n") + "\n" for error in errors)
            raise self.error(node, f"\n{schemas.none_fits(list(tried))}")
        raise self.error(node, f"{overloaded.functions[0].name}() expects constants for what it returns")

    def call_method(self, method: Method, args: list[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """A call of a method of a class or module."""
        function = method.owner.method(method.name)
        if function is None:
            shown = method.owner.qualname.rpartition(".")[2]
            raise self.error(node, f"Class {shown} does not have a {method.name} function defined")
        taken = self.arguments(function, function.arguments[1:], args, kwargs, node)
        return self.emit(
            node,
            "prim::CallMethod",
            [method.value, *taken],
            self.returned(function, node),
            name=method.name,
            function=function,
        ).output

    def returned(self, function: Function, node: Any) -> Type:
        """The type that a function gives."""
        if function.returns is None or not function.finished:
            kind = "function" if function.owner is None else "method"
            raise self.error(
                node, f" {kind} '{function.name}' is called recursively. Recursive calls are not supported"
            )
        return function.returns

    def arguments(
        self,
        function: Function,
        formal: Sequence[tuple[str, Type, Any]],
        args: list[Any],
        kwargs: dict[str, Any],
        node: Any,
        implicit: bool = True,
    ) -> list[Value]:
        """The values for a function's arguments; implicit: tensors may become numbers."""
        taken, left = [], dict(kwargs)
        named = formal[len(formal) - function.named_only :] if function.named_only else []
        more = len(function.arguments) - len(formal)  # self, which PyTorch counts
        if len(args) > len(formal) - len(named):
            missing = [name for name, _, d in named if name not in kwargs and d is schemas.REQUIRED]
            if missing:
                raise self.error(node, f"\n{declaration(function)}:\nArgument {missing[0]} not provided.\n")
            raise self.error(
                node,
                f"\n{declaration(function)}:\nExpected at most {len(formal) + more} arguments but found "
                f"{len(args) + more} positional arguments.\n",
            )
        for i, (name, t, default) in enumerate(formal):
            if i < len(args):
                given = args[i]
            elif name in left:
                given = left.pop(name)
            elif default is not schemas.REQUIRED:
                taken.append(self.constant(node, *self.names.plain(default)))
                continue
            else:
                raise self.error(node, f"\n{declaration(function)}:\nArgument {name} not provided.")
            value = self.value(given, node)
            why = schemas.unfit(Type("{wanted}"), Type("{actual}"), name, value.inferred, {})
            message = f"\n{declaration(function)}:\n{why}\n"
            if name in function.repeated and value.type in (INT, FLOAT):
                value = self.list_value([value] * function.repeated[name], node, None)
            if t.kind in ("List", "Optional") and function.qualname.startswith(_LIBRARY):
                value = self.spread_out(value, t, function, args, node)
            taken.append(self.convert(value, t, node, message, implicit=implicit))
        if left:
            raise self.error(
                node, f"\n{declaration(function)}:\nKeyword argument {next(iter(left))} unknown.\n"
            )
        return taken

    def spread_out(self, value: Value, t: Type, function: Function, args: list[Any], node: Any) -> Value:
        """One number where the library's functions take one for each dim of space."""
        inner = t.args[0] if t.kind == "Optional" else t
        if inner.kind == "List" and value.type in (optional(INT), optional(FLOAT)):

            def given() -> Value:
                one = self.emit(node, "prim::unchecked_cast", [value], value.type.args[0]).output
                return self.spread_out(one, t, function, args, node)

            lacks = self.call_builtin("aten::__is__", [value, self.constant(node, None)], {}, node)
            return self.choose(lacks, lambda: self.constant(node, None), given, node, t)
        if value.type not in (INT, FLOAT) or inner.kind != "List":
            return value
        name = function.name.partition("__")[0]  # overloads are numbered
        digit = name[-2:-1] if name.endswith("d") else ""
        if digit.isdigit() or "fold" in function.name:
            return self.list_value([value] * (int(digit) if digit.isdigit() else 2), node, None)
        dims = self.call_builtin(
            "aten::sub",
            [self.call_builtin("aten::dim", [args[0]], {}, node), self.constant(node, 2)],
            {},
            node,
        )
        one = self.list_value([value], node, None)
        return self.call_builtin("aten::mul", [one, dims], {}, node)

    # --- ops ------------------------------------------------------------------------------------

    def call_builtin(self, kind: str, args: Sequence[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """A call of an op: a node of the overload that the arguments' types fit; an error lists all
        overloads.
        """
        if kind == "aten::len" and isinstance(args[0], Items):
            return self.constant(node, len(args[0].items))
        given: list[Any] = [a if isinstance(a, list) else self.value(a, node) for a in args]
        if kind == "aten::len" and given[0].type.kind == "Tuple":
            return self.constant(node, len(given[0].type.args))
        named = {k: self.value(v, node) for k, v in kwargs.items()}
        if kind in _TURNED and len(given) == 2 and given[1].type == TENSOR and given[0].type in _IMPLICIT:
            *before, name = _TURNED[kind]
            tensor = self.call_builtin(f"aten::{before[0]}", given[1:], {}, node) if before else given[1]
            return self.call_builtin(f"aten::{name}", [tensor, given[0]], named, node)

        def adapt(value: Any, p: schemas.Parameter, bound: dict[Any, Type], convert: bool) -> Any:
            return self.adapt(value, p, bound, convert, node)

        try:
            found, values, bound = schemas.match(kind, given, named, adapt)
        except TypeError as error:
            raise NoForm(str(self.error(node, str(error)))) from None
        filled = [
            self.constant(node, p.default) if v is None else v
            for v, p in zip(values, found.parameters, strict=False)
        ] + values[len(found.parameters) :]
        inputs = [v() if callable(v) else v for v in filled]
        returns = [schemas.fill(t, bound) for t in found.returns]
        done = self.emit(node, kind, inputs, *(t for t in returns if t != NONE), schema=found)
        if len(returns) > 1:
            several = self.value(Items(list(done.outputs)), node)
            if found.fields and several.node is not None:
                several.node.attrs["fields"] = found.fields
            return several
        return done.output if done.outputs else self.constant(node, None)

    def adapt(
        self, value: Any, p: schemas.Parameter, bound: dict[Any, Type], convert: bool, node: Any
    ) -> Any:
        """An argument as a parameter wants it, made when it is called; None where it cannot be."""
        inner = p.type.args[0] if p.type.kind == "Optional" else p.type
        if isinstance(value, list):
            element = inner.args[0] if inner.kind == "List" else INT
            convert = convert and p.name != "self"  # sizes and dims, not the numbers of a list's own op
            if not value or not all(
                subtype(v.type, element) or (convert and turns(v, element)) for v in value
            ):
                return None
            return lambda: self.list_value([self.turned(v, element, node) for v in value], node, element)
        if schemas.bind(p.type, value.type, bound) is not None:
            return value
        t = value.type
        if p.count and inner.kind == "List" and subtype(t, inner.args[0]):
            count = max(len(p.default), 1) if isinstance(p.default, list) else int(p.raw.split("[")[1][0])
            return lambda: self.list_value([value] * count, node, inner.args[0])
        if t.kind == "Tuple" and inner.kind == "List" and (t.args or inner.args[0].kind != "var"):
            if inner.args[0].kind == "var":
                return (
                    (lambda: self.listed(value, list_of(t.args[0]), node))
                    if len(set(t.args)) == 1 and (schemas.bind(inner.args[0], t.args[0], bound))
                    else None
                )
            return (
                (lambda: self.listed(value, inner, node))
                if all(subtype(a, inner.args[0]) for a in t.args)
                else None
            )
        if (
            t.kind == "List"
            and t.args[0] == TENSOR
            and value.node.kind == "prim::ListConstruct"
            and (inner == list_of(Type("Optional", (TENSOR,))))
        ):
            return value
        if convert and turns(value, inner):
            return lambda: self.turned(value, inner, node)
        if convert and t == BOOL and inner in (INT, FLOAT, NUMBER):
            return lambda: self.number_of(value, inner, node)
        if convert and t == STR and inner == DEVICE:
            return lambda: self.call_builtin("aten::device", [value], {}, node)
        if convert and t == INT and inner == FLOAT and value.node.kind == "prim::Constant":
            return lambda: self.constant(node, float(value.node.attrs["value"]))
        return None

    # --- what is not an op ----------------------------------------------------------------------

    def call_known(self, known: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a Python object."""
        if known is len and isinstance(args[0], Value) and args[0].type.kind == "Class":
            owner = args[0].type.cls
            own = getattr(owner.python, "__len__", None)
            if owner.is_module and (own is None or is_ours(own)):
                return self.constant(node, len(self.names.children(args[0], node, self)))
            if owner.method("__len__") is not None:
                return self.call(self.member(args[0], owner, "__len__", node), [], {}, node)
        if isinstance(known, functools.partial):
            before = [self.names.constant(value, node, self) for value in known.args]
            named = {name: self.names.constant(value, node, self) for name, value in known.keywords.items()}
            return self.call_known(known.func, [*before, *args], {**named, **kwargs}, node)
        name = getattr(known, "__name__", "")
        if getattr(builtins, name, None) is known or known is complex:
            if name in _CASTS:
                return self.cast(*_CASTS[name], self.value(args[0], node), node)
            if (
                name in ("list", "tuple")
                and args
                and not isinstance(args[0], Items)
                and args[0].type.kind == "Tuple"
            ):
                types = args[0].type.args
                return args[0] if name == "tuple" else self.listed(args[0], list_of(types[0]), node)
            if name in _OPS:
                kind = _OPS[name]
                if args and getattr(args[0], "type", None) == TENSOR and name not in ("abs", "max", "min"):
                    kind = f"aten::{name}"
                return self.call_builtin(kind, args, kwargs, node)
        if isinstance(known, (type, Type)):
            return self.construct(known, args, kwargs, node)
        found = self.names.compiled(known, node, self)
        if hasattr(found, "__compile_call__"):
            return found.__compile_call__(self, node, args, kwargs)
        return self.call(found, args, kwargs, node)

    def cast(self, t: Type, kind: str, value: Value, node: Any) -> Any:
        """int(x), float(x), bool(x), str(x)."""
        special = f"__{t.kind}__"
        if value.type.kind == "Class" and value.type.cls.method(special) is not None:
            return self.call_method(Method(value, value.type.cls, special), [], {}, node)
        return value if value.type == t else self.call_builtin(kind, [value], {}, node)

    def construct(self, known: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Value:
        """A call of a class: a device, a named tuple, or a compiled class."""
        if getattr(known, "_torchscript_modifier", "") == "ignore":
            raise FrontendError(
                self.source, node, f"Cannot instantiate class '{known.__name__}' in a script function"
            )
        if known is type:  # stays Python, whose results PyTorch takes for tensors
            parts = [self.value(given, node) for given in args]
            return self.emit(node, "prim::PythonOp", parts, TENSOR, python=known).output
        kind = f"aten::{getattr(known, '__name__', '')}"
        if is_ours(known) and schemas.named(kind):  # a device, a size, set_grad_enabled where it is called
            return self.call_builtin(kind, args, kwargs, node)
        t = self.names.type_of(known, node, self)
        if t.kind == "Tuple":
            given = dict(zip(t.cls._fields, args, strict=False)) | kwargs
            given = {**getattr(t.cls, "_field_defaults", {}), **given}
            values = []
            for field, wanted in zip(t.cls._fields, t.args, strict=True):
                value = given[field] if isinstance(given[field], Value) else self.constant(node, given[field])
                message = (
                    f"Expected a value of type '{{wanted}}' for argument '{field}' but instead found type "
                    "'{actual}'."
                )
                values.append(self.convert(value, wanted, node, message, implicit=True))
            return self.emit(node, "prim::TupleConstruct", values, t).output
        made = self.emit(node, "prim::CreateObject", (), t).output
        self.call_method(Method(made, t.cls, "__init__"), args, kwargs, node)
        return made

    def call_annotate(self, node: ast.Call, wanted: Any) -> Any:
        """annotate(T, x): x, which is taken for a T."""
        t = self.names.annotation(node.args[0], self)
        self.annotated, before = True, self.annotated
        try:
            value = self.expr(node.args[1], t)
        finally:
            self.annotated = before
        message = "expected an expression of type {wanted} but found {actual}"
        found = self.convert(value, t, node, message, implicit=True)
        return self.emit(node, "prim::unchecked_cast", [found], t).output if found.type != t else found

    def call_unchecked_cast(self, node: ast.Call, wanted: Any) -> Any:
        """unchecked_cast(T, x), in a file's code: x is known to be a T."""
        t = self.names.annotation(node.args[0], self)
        return self.emit(node, "prim::unchecked_cast", [self.expr(node.args[1])], t).output

    def call_uninitialized(self, node: ast.Call, wanted: Any) -> Any:
        """uninitialized(T), in a file's code: a value that is never read."""
        return self.emit(node, "prim::Uninitialized", (), self.names.annotation(node.args[0], self)).output

    def call_tolist(self, tensor: Value, wanted: Type | None, node: Any) -> Value:
        """x.tolist(), whose type is the annotation's."""
        if wanted is None:
            raise self.error(node, "Expected type hint for result of tolist()")
        element = wanted
        while element.kind == "List":
            element = element.args[0]
        if element not in (INT, FLOAT, BOOL, COMPLEX):
            raise self.error(
                node,
                f"{element} is not one of the supported element types for tolist: int, float, complex, bool",
            )
        return self.emit(node, "prim::tolist", [tensor], wanted).output

    def call_print(self, node: ast.Call, wanted: Any) -> Any:
        """print(...)."""
        if node.keywords:
            raise self.error(node.func, "print doesn't accept any keyword arguments")
        self.emit(node, "prim::Print", [self.value(x, node) for a in node.args for x in self.spread(a)])
        return self.constant(node, None)

    def call_isinstance(self, node: ast.Call, wanted: Any) -> Any:
        """isinstance(x, T), or of a tuple of them."""
        known, _, _ = self.test(node)
        return self.constant(node, known) if isinstance(known, bool) else known

    call_hasattr = call_isinstance

    def call_is_scripting(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit.is_scripting(): True here."""
        return self.constant(node, True)

    def call_is_tracing(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit.is_tracing(), torch.compiler.is_compiling() and is_exporting(): False here."""
        return self.constant(node, False)

    call_is_compiling = call_is_exporting = call_get_tracing_state = call_is_tracing
    # overrides.has_torch_function(...): programs know tensors alone
    call_has_torch_function = call_has_torch_function_unary = call_is_tracing
    call_has_torch_function_variadic = call_is_tracing

    def call_fork(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit.fork(f, ...): run now; wait() gives the result."""
        return self.put_off(node, "prim::fork", "Future")

    def put_off(self, node: ast.Call, kind: str, wrapper: str) -> Value:
        """f(f, ...): a call of the first argument with the others, as a node of this kind."""
        args = [x for a in node.args[1:] for x in self.spread(a)]
        kwargs = {str(k.arg): self.sugar(k.value) for k in node.keywords}
        function = self.sugar(node.args[0])
        if isinstance(function, Known):
            function = self.names.compiled(function.object, node, self)
        whole = ast.copy_location(ast.Expr(node), node)
        if isinstance(function, Builtin):
            function = self.function_of(function, args, node)
        if isinstance(function, Value) and function.type.cls is None:
            raise self.error(whole, f"cannot call a value of type '{function.type}'")
        found = self.value(self.call(function, args, kwargs, node), node)
        if found.node is None or found.node.kind not in ("prim::CallFunction", "prim::CallMethod"):
            raise self.error(node, f"{kind[6:]}() expects a function or a method of a module")
        found.node.kind, found.type = kind, Type(wrapper, (found.type,))
        found.node.place = self.source.place(whole)
        return found

    def function_of(self, op: Builtin, args: list[Any], node: Any) -> Function:
        """A function of these arguments that calls an op."""
        given = [self.value(a, node) for a in args]
        made = Function(f"__torch__.{op.kind.rpartition(':')[2]}", [], None, finished=True)
        outer, self.block = self.block, made.block
        params = [made.block.param(v.type, f"x{i}") for i, v in enumerate(given)]
        result = self.value(self.call_builtin(op.kind, [*op.args, *params], {}, node), node)
        made.block.finish([result])
        self.block = outer
        made.arguments = [(v.hint, v.type, schemas.REQUIRED) for v in params]
        made.returns = result.type
        return made

    def call_awaitable(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit._awaitable(f, ...): run when the result is asked for."""
        return self.put_off(node, "prim::awaitable", "Await")

    def call_awaitable_wait(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit._awaitable_wait(x): the result."""
        return self.call_builtin("prim::awaitable_wait", [self.expr(node.args[0])], {}, node)

    def call_awaitable_nowait(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit._awaitable_nowait(x): an awaitable whose result is x."""
        return self.call_builtin("prim::awaitable_nowait", [self.expr(node.args[0])], {}, node)

    def call_wait(self, node: ast.Call, wanted: Any) -> Any:
        """torch.jit.wait(future)."""
        return self.call_builtin("aten::wait", [self.expr(node.args[0])], {}, node)


def _is_true(value: Any) -> bool:
    """Whether an argument is the constant True; False where there is none."""
    made = getattr(value, "node", None)
    return made is not None and made.kind == "prim::Constant" and made.attrs["value"] is True


def declaration(function: Function) -> str:
    """The signature of a function, as in errors: f(Tensor x, int n=2) -> Tensor."""
    parts = [
        f"{_spelled(t, function.repeated.get(name))} {name}"
        + ("" if d is schemas.REQUIRED else f"={schemas.spell(d)}")
        for name, t, d in function.arguments
    ]
    if function.named_only:
        parts.insert(len(parts) - function.named_only, "*")
    result = (function.returns or NONE).short()
    result = f"({result})" if result.startswith("(") else result
    return f"{function.name}({', '.join(parts)}) -> {result}"


def _spelled(t: Type, count: int | None) -> str:
    """A type in a signature; of a list for which one number may stand, how many it has."""
    if t.kind == "Class":
        return str(t.cls.qualname)
    return t.short() if count is None else f"{t.args[0].short()}[{count}]"


def _pairs(iterable: ast.expr) -> ast.DictComp:
    """{key: item for key, item in iterable}"""
    names = [ast.Name(name, context) for context in (ast.Load(), ast.Store()) for name in ("$key", "$item")]
    target = ast.Tuple([*names[2:]], ast.Store())
    made = ast.DictComp(names[0], names[1], [ast.comprehension(target, iterable, [], 0)])
    for part in (*names, target, made):
        ast.copy_location(part, iterable)
    return made


def _each(iterable: ast.expr) -> ast.ListComp:
    """[item for item in iterable]"""
    read, write = ast.Name("$item", ast.Load()), ast.Name("$item", ast.Store())
    made = ast.ListComp(read, [ast.comprehension(write, iterable, [], 0)])
    for part in (read, write, made):
        ast.copy_location(part, iterable)
    return made
