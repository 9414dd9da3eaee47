"""Functions and simple statements: assignments in all their forms, return, del."""

from __future__ import annotations

import ast
from typing import Any

from rushlight.jit.compiler import exits
from rushlight.jit.compiler.contexts import Contexts
from rushlight.jit.compiler.interfaces import incompatible
from rushlight.jit.compiler.values import Items, Missing
from rushlight.jit.frontend import UnsupportedNodeError
from rushlight.jit.program.ir import Value
from rushlight.jit.program.tidy import tidy
from rushlight.jit.program.types import NONE, TENSOR, ClassType, Type, unify

# How a tensor is made that is like another one.
_ALIKE = {"dtype": "prim::dtype", "device": "prim::device"}


class Compiler(Contexts):
    """Compiles one function: `function` gets its block, and its result type where it has none."""

    def run(self, tree: ast.FunctionDef) -> None:
        """Compile the body."""
        for name, t, _ in self.function.arguments:
            value = self.env[name] = self.block.param(t, name)
            value.inferred = name in self.function.inferred
            self.said[name] = t
        if self.function.returns is not None:
            self.said[exits.RESULT] = self.function.returns
        if self.function.owner is not None and self.function.arguments:
            self.block.params[0].hint = "self"
        body = tree.body
        if exits.returns_in_part(body):
            self.check_returns(tree)
            body = [*body, ast.fix_missing_locations(ast.copy_location(ast.Return(None), body[-1]))]
        self.body(exits.structured(body))
        result = self.env.get(exits.RESULT)
        if result is None and self.env.get("$dead") and self.function.returns is not None:
            result = self.emit(
                tree, "prim::Uninitialized", (), self.function.returns
            ).output  # it only raises
        elif result is None:
            self.check_returns(tree)
            result = self.result(self.constant(tree, None), tree)
        result = self.value(result, tree)
        self.function.returns = self.function.returns or result.type
        self.block.finish([result])
        tidy(self.block)
        self.function.finished = True

    def check_returns(self, tree: ast.FunctionDef) -> None:
        """Raise where a function that has come to its end should have returned something."""
        if self.function.returns not in (None, NONE):
            raise self.error(
                tree, "Function was not annotated as having type None, but does not return along all paths"
            )

    def body(self, statements: list[ast.stmt]) -> None:
        """A sequence of statements."""
        for node in statements:
            method = getattr(self, f"do_{type(node).__name__}", None)
            if method is None:
                raise UnsupportedNodeError(self.source, node)
            method(node)
            if self.env.get("$dead") or self.env.get(exits.LEFT):
                return  # what follows is never come to

    # --- assignments ----------------------------------------------------------------------------

    def do_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def do_Expr(self, node: ast.Expr) -> None:
        """An expression as a statement; docstrings are dropped."""
        if not isinstance(node.value, ast.Constant):
            self.sugar(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        """`a = b = value`; a `return`, which exits.py has made an assignment, too."""
        if getattr(node, "is_return", False):
            self.env[exits.RESULT] = self.result(
                self.value(self.sugar(node.value, self.function.returns), node.value), node
            )
            return
        mark = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        if mark == exits.LEFT:
            self.env[exits.LEFT] = True
        elif mark == exits.BEHIND:
            self.around = self.around_if
        if mark in (exits.LEFT, exits.BEHIND):
            return
        self.assignments[node.value] = node
        found = self.sugar(node.value)
        for target in node.targets:
            self.assign(target, found, node)

    def result(self, value: Value, node: Any) -> Value:
        """A value that is returned, as the function's type."""
        wanted, known = self.function.returns, self.env.get(exits.RESULT)
        if wanted is not None:
            return self.convert(
                value,
                wanted,
                node,
                "Return value was annotated as having type {wanted} but is actually of type {actual}",
                implicit=True,
            )
        first = self.__dict__.setdefault("first_return", value)
        if unify(first.type, value.type) is None and not isinstance(known, Missing):
            names = [f"{v.type}{' (inferred)' * (v.inferred and v.type == TENSOR)}" for v in (first, value)]
            raise self.error(
                node,
                f"Previous return statement returned a value of type {names[0]} but this return statement "
                f"returns a value of type {names[1]}",
            )
        return value

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        """`name: type = value`, converted to that type; an error without a value."""
        t = self.names.annotation(node.annotation, self)
        own = isinstance(node.target, ast.Attribute) and ast.unparse(node.target.value) == "self"
        if own and self.function.owner is not None and self.function.name != "__init__":
            raise ValueError(
                "Type annotations on instance attributes must be declared in __init__, not "
                f"'{self.function.name}': SourceRange at:\n{self.source.show(node)}"
            )
        if node.value is None:
            raise self.error(node, "Expected a value in an annotated assignment")
        outer = self.around.get(node.target.id) if isinstance(node.target, ast.Name) else None
        if isinstance(outer, Value) and not self.source.ours:
            raise self.error(
                node.target,
                f"Attempting to declare and annotate the type of variable '{ast.unparse(node.target)}' "
                "but it is already defined in an outer block",
            )
        self.annotated, before = True, self.annotated
        try:
            value = self.chosen_module(node, t) or self.expr(node.value, t)
        finally:
            self.annotated = before
        found = self.convert(
            value,
            t,
            node.target,
            "Variable '" + ast.unparse(node.target) + "' is annotated with "
            "type {wanted} but is being assigned to a value of type {told}",
        )
        if found.type != t:
            found = self.emit(node, "prim::unchecked_cast", [found], t).output
        if isinstance(node.target, ast.Name):
            self.said[node.target.id] = t
        self.assign(node.target, found, node)

    def chosen_module(self, node: ast.AnnAssign, t: Type) -> Value | None:
        """m: Interface = modules[key], where the key is not known yet; None for anything else."""
        if t.kind != "Class" or not t.cls.is_interface or not isinstance(node.value, ast.Subscript):
            return None
        container, index = self.value(self.sugar(node.value.value), node), self.expr(node.value.slice)
        known = container.type.cls if container.type.kind == "Class" else None
        if known is None or not known.is_module or (index.node and index.node.kind == "prim::Constant"):
            return None
        for name, kind in known.kinds.items():
            if kind == "module":
                own = known.fields[name].cls
                for method in t.cls.methods:
                    own.method(method)
                why = incompatible(own, t.cls)
                if why:
                    raise self.error(node.value, f"Attribute {name} is not of annotated type {t}: {why}")
        return self.emit(node, "prim::ModuleContainerIndex", [container, index], t).output

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """`a += b`, in place on tensors."""
        target = node.target
        if isinstance(target, ast.Name):
            self._augment(target, node)
            return
        base = self.sugar(target.value)
        bound = {"(base)": base}
        place: Any = ast.copy_location(ast.Name("(base)", ast.Load()), target.value)
        if isinstance(target, ast.Attribute):
            once: Any = ast.Attribute(place, target.attr, ast.Store())
        else:
            self.refuse_items(base, "augmented assignment.", target)
            index: Any = target.slice
            if (
                isinstance(base, Value)
                and base.type.kind in ("List", "Dict")
                and not isinstance(index, ast.Slice)
            ):
                bound["(index)"] = self.expr(index)
                index = ast.copy_location(ast.Name("(index)", ast.Load()), index)
            once = ast.Subscript(place, index, ast.Store())
        self.env.update(bound)
        try:
            self._augment(ast.copy_location(once, target), node)
        finally:
            for name in bound:
                self.env.pop(name, None)

    def _augment(self, target: Any, node: ast.AugAssign) -> None:
        """An augmented assignment to a target whose parts are known: it is read and written."""
        old = self.expr(target)
        new = self.binary(node.op, old, self.expr(node.value), node, inplace=True)
        if not (isinstance(target, ast.Subscript) and old.type == TENSOR):
            self.assign(target, new, node)
        elif old.node is not None and old.node.kind == "aten::index":  # a copy of the elements, not a view
            self.call_builtin("aten::index_put_", [*old.node.inputs, new], {}, node)

    def assign(self, target: Any, found: Any, node: Any) -> None:
        """target = found."""
        if isinstance(target, ast.Name):
            # In its own block a variable may become something else; what it was around that stays.
            old = self.around.get(target.id)
            if isinstance(found, Value):
                if found.node and found.node.kind not in ("prim::Constant", "prim::Param") and not found.hint:
                    found.hint = "" if target.id.startswith(("$", "_")) else target.id
                found = self._held(target, old, found, node) if isinstance(old, Value) else found
            self.env[target.id] = found
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, found, node)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.expr(target.value), target.attr, self.value(found, node), node)
        elif isinstance(target, ast.Subscript):
            self.set_item(self.expr(target.value), target, self.value(found, node), node)
        else:
            raise UnsupportedNodeError(self.source, target)

    def _held(self, target: Any, old: Value, found: Value, node: Any) -> Value:
        """What a variable of a block around this one may hold instead of `old`; a tuple becomes a list
        there.
        """
        if old.type != found.type and _is_module(old.type) and not _is_module(found.type):
            raise self.error(
                target,
                f"Cannot re-assign '{target.id}' because it has type value of type '{found.type}' and "
                f"{target.id} is not a first-class value.  Only reassignments to first-class values are "
                "allowed",
            )
        if old.type != found.type and _is_module(found.type):
            raise self.error(
                target,
                f"Cannot re-assign '{target.id}' to a value of type module because {target.id} is "
                "not a first-class value.  Only reassignments to first-class values are allowed",
            )
        if old.type.kind in ("open", "Class") or target.id.startswith(("$", "_")):
            return found
        told = f"Variable '{target.id}' previously had type {old.type}{' (inferred)' * old.inferred} but is "
        told += "now being assigned to a value of type {told}\n"
        if old.type.kind == found.type.kind == "List":
            told += (
                "Empty lists default to List[Tensor]. Add a variable annotation to the assignment to create "
                "an empty list of another type (torch.jit.annotate(List[T, []]) where T is the type of "
                "elements in the list for Python 2)\n"
            )
        return self.convert(found, old.type, target, told, implicit=True)

    def unpack(self, target: Any, found: Any, node: Any) -> None:
        """a, b = found."""
        count = len(target.elts)
        starred = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
        if len(starred) > 1:
            raise self.error(target, "Only one starred expression is allowed on the lhs")
        if starred and count == 1:
            raise self.error(
                target,
                "A Starred expression may only appear on the lhs within the presence of another non-starred "
                "expression",
            )
        if isinstance(found, Value) and _is_module(found.type):
            found = Items(self.names.children(found, node, self))  # of a container
        if not isinstance(found, (Value, Items)):
            kind = "function" if callable(getattr(found, "object", None)) else type(found).__name__.lower()
            raise self.error(node.value, f"{kind} cannot be used as a tuple")
        if starred:
            self.unpack_starred(target, found, starred[0], node)
            return
        if isinstance(found, Value) and _may_give_many(found):
            found.type = Type("Tuple", (TENSOR,) * count)
        if isinstance(found, Value) and found.type.kind not in ("Tuple", "List"):
            raise self.error(node, f"{found.type} cannot be used as a tuple")
        if isinstance(found, Value) and found.type == Type("Tuple") and count:
            raise self.error(
                node.value,
                "Provided tuple is not fully defined/refined including its element types, please provide a "
                "value of type like Tuple[int, int]",
            )
        parts = self.parts(found, count, node) if isinstance(found, Value) else found.items
        if len(parts) != count:
            raise self.error(
                target,
                f"need {count} values to unpack but found only {len(parts)}"
                if len(parts) < count
                else f"too many values to unpack: need {count} but found {len(parts)}",
            )
        for one, part in zip(target.elts, parts, strict=True):
            self.assign(one, part, node)

    def unpack_starred(self, target: Any, found: Any, place: int, node: Any) -> None:
        """a, *b, c = found, which is a tuple."""
        if isinstance(found, Value) and found.type.kind == "List":
            raise self.error(
                node.value, "cannot statically infer the expected size of a list in this context"
            )
        if isinstance(found, Value) and found.type.kind != "Tuple":
            raise self.error(node, f"{found.type} cannot be used as a tuple")
        parts = found.items if isinstance(found, Items) else self.parts(found, len(found.type.args), node)
        behind = len(target.elts) - place - 1
        if len(parts) < len(target.elts) - 1:
            raise self.error(
                node, f"need at least {len(target.elts) - 1} values to unpack, but found only {len(parts)}"
            )
        middle = Items(list(parts[place : len(parts) - behind]))
        chosen = [*parts[:place], self.value(middle, node), *parts[len(parts) - behind :]]
        names = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
        for one, part in zip(names, chosen, strict=True):
            self.assign(one, part, node)

    def set_attribute(self, base: Value, name: str, value: Value, node: Any) -> None:
        """base.name = value."""
        owner = base.type.cls if base.type.kind == "Class" else None
        if owner is None:
            raise self.error(node, f"Tried to set an attribute: {name} on a non-class: {base.type}")
        if name not in owner.fields:
            if self.names.set_outside(base, owner, name, value, node, self):
                return
            if owner.is_module or self.function.name != "__init__":
                raise self.error(
                    node,
                    f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                    "__init__()?",
                )
            if self.block is not self.function.block:
                raise self.error(
                    node, "First attribute assignment cannot be in a control-flow block; assign it before"
                )
            if _contains(value.type, owner):
                raise self.error(
                    node,
                    f"Assignment to attribute '{name}' cannot be of a type that contains class "
                    f"'{owner.qualname}'.\nClasses that recursively contain instances of themselves are not "
                    "yet supported",
                )
            owner.fields[name], owner.kinds[name] = value.type, "attribute"
        message = f"Wrong type for attribute assignment. Expected {{wanted}} but got {{actual}}"  # noqa: F541
        self.emit(
            node, "prim::SetAttr", [base, self.convert(value, owner.fields[name], node, message)], name=name
        )

    def set_item(self, base: Value, target: ast.Subscript, value: Value, node: Any) -> None:
        """base[...] = value."""
        self.refuse_items(base, "subscripted assignment", target)
        if base.type != TENSOR:
            place = self.expr(target.slice)
            if self.own(base, "__setitem__", [place, value], node) is None:
                self.call_builtin("aten::_set_item", [base, place, value], {}, node)
            return
        place = self.indexed(base, target.slice, node)
        made = place.node
        if made is not None and made.kind == "aten::index":
            self.block.nodes.remove(made)
            for source in made.inputs:
                source.uses = [use for use in source.uses if use[0] is not made]
            self.call_builtin(
                "aten::index_put_", [*made.inputs, self.number_like(base, value, node)], {}, node
            )
        else:
            self.call_builtin("aten::copy_", [place, self.number_like(base, value, node)], {}, node)

    def refuse_items(self, base: Any, what: str, node: Any) -> None:
        """Raise where items of a tuple are assigned."""
        if isinstance(base, Value) and base.type.kind == "Tuple":
            raise self.error(node, f"{base.type} does not support {what}")

    def number_like(self, base: Value, value: Value, node: Any) -> Value:
        """A tensor as it is, a number as a tensor of another tensor's dtype and device."""
        if value.type == TENSOR:
            return value
        alike = {name: self.call_builtin(kind, [base], {}, node) for name, kind in _ALIKE.items()}
        return self.call_builtin("aten::tensor", [value], alike, node)

    def do_Delete(self, node: ast.Delete) -> None:
        """`del x[i]`, of lists and dicts, and `del x`, after which nobody knows x; an error for slices."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.forget(target)
                continue
            if not isinstance(target, ast.Subscript):
                raise self.error(
                    target, "del statements are only supported for deleting list and dict items and variables"
                )
            if isinstance(target.slice, ast.Slice):
                raise self.error(
                    target,
                    "del statements only support deletion at a single index, slicing is not supported",
                )
            base, place = self.expr(target.value), self.expr(target.slice)
            if self.own(base, "__delitem__", [place], node) is None:
                self.call_builtin("aten::Delete", [base, place], {}, node)

    def forget(self, target: ast.Name) -> None:
        """Take a variable away, also from the blocks around."""
        known = self.env.get(target.id)
        if known is None or isinstance(known, Missing):
            raise self.error(target, f"undefined value {target.id}")
        held = known if isinstance(known, Value) else None
        self.env[target.id] = Missing(f"undefined value {target.id}", self.source.show(target), held)
        self.around.pop(target.id, None)
        self.said.pop(target.id, None)


def _may_give_many(found: Value) -> bool:
    """Whether it is what Python gave: as many tensors as are asked for."""
    return found.type == TENSOR and found.node is not None and found.node.kind == "prim::PythonOp"


def _is_module(t: Type) -> bool:
    return t.kind == "Class" and bool(t.cls.is_module)


def _contains(t: Type, owner: ClassType) -> bool:
    """Whether values of a type may hold objects of a class."""
    return (t.kind == "Class" and t.cls is owner) or any(_contains(part, owner) for part in t.args)
