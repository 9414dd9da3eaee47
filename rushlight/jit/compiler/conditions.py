"""Conditions: what they tell about types, and variables that depend on them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from rushlight.jit.compiler import exits
from rushlight.jit.compiler.calls import Calls
from rushlight.jit.compiler.expressions import OPEN
from rushlight.jit.compiler.values import Items, Known, Manager, Missing
from rushlight.jit.program.ir import Block, Node, Value
from rushlight.jit.program.types import BOOL, NONE, STR, TENSOR, Type, subtype, unify, union

# What isinstance() leaves of a value that may be None. Of one that `is None`, its type stays, as in PyTorch.
_TOLD_NONE = Type("NoneType")


class Conditions(Calls):
    """The compiler's part for conditions, assert and raise."""

    def test(self, node: Any) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        """A condition as a bool where it is known now, else a value; and which types names have if it is
        true, if false.
        """
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found, yes, no = self.test(node.operand)
            if isinstance(found, bool):
                return not found, no, yes
            return self.call_builtin("aten::__not__", [found], {}, node), no, yes
        if isinstance(node, ast.BoolOp):
            return self.both(node)
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        ):
            found = self.is_none(node)
            if found is not None:
                return found
        if isinstance(node, ast.Call):
            function = self.sugar(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
            name = self.names.special(function.object) if isinstance(function, Known) else None
            if name == "isinstance":
                return self.is_instance(node)
            if name == "hasattr":
                return self.has_attribute(node), {}, {}
        value = self.truth(self.expr(node), node)
        if value.node and value.node.kind == "prim::Constant":
            return value.node.attrs["value"], {}, {}
        return value, {}, {}

    def both(self, node: ast.BoolOp) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        """and, or: what is on the right is looked at only where the left does not decide."""
        first, rest = node.values[0], node.values[1:]
        conj = isinstance(node.op, ast.And)
        found, yes, no = self.test(first)
        if not rest:
            return found, yes, no
        other = ast.copy_location(ast.BoolOp(node.op, rest), node)
        if isinstance(found, bool):
            if found is not conj:
                return found, yes, no
            return self.both(other)
        more: list[Any] = [{}, {}]
        known: list[Any] = []

        def right() -> Value:
            self.refine(yes if conj else no, node)
            value, *more[:] = self.both(other)
            known.append(value)
            return self.constant(node, value) if isinstance(value, bool) else value

        def left() -> Value:
            return self.constant(node, not conj)

        value = self.choose(found, right if conj else left, left if conj else right, node)
        if known == [not conj]:  # whatever the left is: branches that are never taken are not compiled
            return not conj, {}, {}
        if conj:
            return value, {**yes, **more[0]}, _either(no, more[1])
        return value, _either(yes, more[0]), {**no, **more[1]}

    def at_BoolOp(self, node: ast.BoolOp) -> Any:
        """`and`, `or`: the later operands in blocks of prim::If, so that they run only where Python runs
        them.
        """
        found, _, _ = self.both(node)
        return self.constant(node, found) if isinstance(found, bool) else found

    def is_none(self, node: ast.Compare) -> tuple[Any, dict[str, Type], dict[str, Type]] | None:
        """x is None, x is not None; None where it is no such comparison."""
        sides = [node.left, node.comparators[0]]
        plain = [isinstance(s, ast.Constant) and s.value is None for s in sides]
        if not any(plain):
            return None
        place = sides[0] if plain[1] else sides[1]
        found = self.sugar(place)
        positive = isinstance(node.ops[0], ast.Is)
        if isinstance(found, Known):
            return (found.object is None) is positive, {}, {}
        if not isinstance(found, Value) or found.type.kind not in (
            "Optional",
            "NoneType",
            "Union",
            "Any",
            "open",
        ):
            return not positive, {}, {}
        if found.type == NONE:
            return positive, {}, {}
        rest = [t for t in _alternatives(found.type) if t != NONE]
        narrows = isinstance(place, ast.Name) and bool(found.type.args)
        refined, none = ({place.id: _joined(rest)}, {place.id: NONE}) if narrows else ({}, {})  # type: ignore
        kind = "aten::__is__" if positive else "aten::__isnot__"
        value = self.call_builtin(kind, [found, self.constant(node, None)], {}, node)
        return (value, none, refined) if positive else (value, refined, none)

    def is_instance(self, node: ast.Call) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        """isinstance(x, T)."""
        place, kinds = node.args
        value = self.expr(place)
        bare = {"list": "List", "dict": "Dict", "tuple": "Tuple"}
        open_kinds = (*bare.values(), "Await", "Future")
        names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        types = [
            Type(bare[ast.unparse(n)]) if ast.unparse(n) in bare else self.names.annotation(n, self)
            for n in names
        ]

        def fits(t: Type) -> bool:
            return any(
                subtype(t, w) or (not w.args and w.kind in open_kinds and w.kind == t.kind) for w in types
            )

        parts = _alternatives(value.type)
        yes = [t for t in parts if fits(t)]
        if value.type.kind == "Any":
            yes, parts = types, (*types, NONE)
        if len(yes) in (0, len(parts)):
            return bool(yes), {}, {}
        no = [t for t in parts if t not in yes]
        found = self.emit(node, "prim::isinstance", [value], BOOL, types=types).output
        name = place.id if isinstance(place, ast.Name) else ""
        return found, *(
            {name: _TOLD_NONE if one == [NONE] else _joined(one)}  # type: ignore[return-value]
            if (name and value.type.kind != "Any") or len(one) == 1
            else {}
            for one in (yes, no)
        )

    def has_attribute(self, node: ast.Call) -> bool:
        """hasattr(x, "name")."""
        if len(node.args) != 2:
            raise self.error(node, f"hasattr expected exactly 2 arguments but found {len(node.args)}")
        if not isinstance(node.args[1], ast.Constant) or not isinstance(node.args[1].value, str):
            raise self.error(node.args[1], "hasattr's second argument must be a string literal")
        return self.holds(self.sugar(node.args[0]), node.args[1].value, node.args[0])

    def call_getattr(self, node: ast.Call, wanted: Any) -> Any:
        """getattr(x, "name"), getattr(x, "name", default)."""
        name = node.args[1]
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise self.error(name, "getattr's second argument must be a string literal")
        base = self.sugar(node.args[0])
        if len(node.args) == 3 and not self.holds(base, name.value, node):
            return self.sugar(node.args[2])
        return self.attribute(base, name.value, node)

    def holds(self, base: Any, name: str, node: Any) -> bool:
        """Whether base.name is there: properties are not, nor functions that are no TorchScript.

        A method that does not compile raises.
        """
        if isinstance(base, Known):
            return hasattr(base.object, name)
        value = self.value(base, node)
        if value.type.kind == "Tuple" and value.type.cls is not None:
            return name in value.type.cls._fields
        if value.type.kind != "Class":
            shown = "Tensor (inferred)" if value.type == TENSOR else str(value.type)
            shown = "but got a normal Tuple" if value.type.kind == "Tuple" else f"got {shown}"
            raise self.error(
                node, f"hasattr's first argument must be an object or NamedTuple, {shown} instead"
            )
        owner = value.type.cls
        if name in owner.fields or name in owner.constants or name in owner.overloads:
            return True
        if name in owner.extras:
            return self.names.uncompilable(owner, name) is None
        return owner.method(name) is not None

    def refine(self, types: dict[str, Type], node: Any) -> None:
        """Take variables for what a condition says that they are."""
        for name, t in types.items():
            value = self.env.get(name)
            if isinstance(value, Value) and value.type != t and t is not NONE:
                made = self.emit(node, "prim::unchecked_cast", [value], t).output
                made.hint = name
                self.env[name] = made

    def at_IfExp(self, node: ast.IfExp, wanted: Type | None = None) -> Any:
        """`a if c else b`: a prim::If with a result of both sides' common type."""
        found, yes, no = self.test(node.test)
        if isinstance(found, bool):
            return self.sugar(node.body if found else node.orelse, wanted)

        def side(part: Any, types: dict[str, Type]) -> Callable[[], Value]:
            def value() -> Value:
                self.refine(types, node)
                return self.expr(part, wanted)

            return value

        return self.choose(found, side(node.body, yes), side(node.orelse, no), node, wanted)

    def choose(
        self,
        found: Value,
        yes: Callable[[], Value],
        no: Callable[[], Value],
        node: Any,
        wanted: Type | None = None,
    ) -> Value:
        """The value of one side, by a condition; `wanted`: a type that both may be taken for."""
        made = self.emit(node, "prim::If", [found])
        kept, outer, sides = self.env, self.block, []
        around, self.around = self.around, dict(kept)
        for side in (yes, no):
            self.env, self.block = dict(kept), Block()
            made.blocks.append(self.block)
            sides.append(side())
        self.env, self.block, self.around = kept, outer, around
        t = unify(sides[0].type, sides[1].type)
        if t is None and wanted is not None and all(subtype(side.type, wanted) for side in sides):
            t = wanted
        if t is None:
            raise self.error(
                node,
                f"Type mismatch: the if-expression has type {sides[0].type} in the true branch and type "
                f"{sides[1].type} in the false branch",
            )
        for block, value in zip(made.blocks, sides, strict=True):
            block.finish([value])
        made.outputs = [Value(t, made)]
        return made.output

    def do_If(self, node: ast.If) -> None:
        """An if statement: a prim::If whose outputs are the names that both sides leave; one side where it is
        known.
        """
        found, yes, no = self.test(node.test)
        if isinstance(found, bool):
            outer, self.around_if = self.around_if, self.around
            self.refine(yes if found else no, node)
            self.body(node.body if found else node.orelse)
            self.around_if = outer
            return
        self.branches(found, (lambda: self.body(node.body), lambda: self.body(node.orelse)), (yes, no), node)

    def branches(
        self,
        found: Value,
        sides: tuple[Callable[[], None], Callable[[], None]],
        told: tuple[dict[str, Type], dict[str, Type]],
        node: Any,
    ) -> None:
        """What either side does, by a condition; `told`: the types that names have there."""
        made = self.emit(node, "prim::If", [found])
        before, block, ends = self.env, self.block, []
        around, outer = self.around, self.around_if
        for side, types in zip(sides, told, strict=True):
            self.env, self.block = dict(before), Block()
            self.around, self.around_if = dict(before), around
            made.blocks.append(self.block)
            self.refine(types, node)
            side()
            ends.append(self.env)
        self.env, self.block, self.around, self.around_if = dict(before), block, around, outer
        self.join(made, ends, node)

    def join(self, made: Node, ends: list[dict[str, Any]], node: Any) -> None:
        """After an if, a variable is what either side made of it."""
        outputs: list[list[Value]] = [[], []]
        dead = [bool(end.get("$dead")) for end in ends]
        gone = [one or bool(end.get(exits.LEFT)) for one, end in zip(dead, ends, strict=True)]
        for mark in ["$dead"] * all(dead) + [exits.LEFT] * (all(gone) and not all(dead)):
            self.env[mark] = True
        for name in dict.fromkeys([*ends[0], *ends[1]]):
            pair = [end.get(name) for end in ends]
            unseen = dead if name.startswith("$") else gone
            if name in ("$dead", exits.LEFT):
                continue
            if pair[0] is pair[1]:
                self.env[name] = pair[0]
            elif any(unseen) and not all(unseen) and not isinstance(pair[unseen.index(False)], Value):
                self.env[name] = pair[unseen.index(False)]
            else:
                self.merge(name, pair, made, outputs, (dead, unseen), node)
        for block, values in zip(made.blocks, outputs, strict=True):
            block.finish(values)

    def merge(
        self,
        name: str,
        pair: list[Any],
        made: Node,
        outputs: list[list[Value]],
        ends: tuple[list[bool], list[bool]],
        node: Any,
    ) -> None:
        """One variable after an if; `ends`: which sides only raise, which are left by return or break."""
        internal = name.startswith("$")
        dead, gone = ends
        for i in (0, 1):
            other = pair[1 - i]
            lacks = not isinstance(pair[i], Value) or not isinstance(other, Value)
            lacks = lacks or unify(pair[i].type, other.type) is None
            if isinstance(other, Value) and (
                dead[i] or (lacks and gone[i]) or (internal and not isinstance(pair[i], Value))
            ):
                pair[i] = made.blocks[i].add("prim::Uninitialized", (), [other.type]).output
        if not all(isinstance(p, Value) for p in pair):
            side = ["true", "false"][not isinstance(pair[1], Value)]
            absent = next((p for p in pair if isinstance(p, Missing)), None)
            if absent is not None:
                self.env[name] = absent
            elif name in self.env or any(isinstance(p, (Items, Known, Manager)) for p in pair):
                self.env[name] = pair[0] if isinstance(pair[0], (Items, Known, Manager)) else pair[1]
            elif not isinstance(self.env.get(name), Value):
                self.env[name] = Missing(
                    f"{name} is not defined in the {side} branch", self.source.show(node)
                )
            return
        for a, b in (pair, pair[::-1]):
            if a.type == OPEN:
                a.type = b.type
        t = unify(pair[0].type, pair[1].type)
        if t is None and "Union" in (self.said.get(name, OPEN).kind, *_kinds(self.said.get(name, OPEN))):
            t = union((pair[0].type, pair[1].type))
        if t is None:
            self.env[name] = Missing(
                f"Type mismatch: {name} is set to type {pair[0].type} in the true branch and type "
                f"{pair[1].type} in the false branch",
                self.source.show(node),
            )
            return
        made.outputs.append(Value(t, made, "" if internal or name.startswith("_") else name))
        self.env[name] = made.outputs[-1]
        for values, value in zip(outputs, pair, strict=True):
            values.append(value)

    def do_Assert(self, node: ast.Assert) -> None:
        """assert: `if c: pass, else: raise` with AssertionError's text."""
        message = ast.Constant("AssertionError: ")
        text: ast.expr = message if node.msg is None else ast.BinOp(message, ast.Add(), node.msg)
        call = ast.Raise(ast.Call(ast.Name("", ast.Load()), [text], []), None)
        check = ast.If(node.test, [ast.copy_location(ast.Pass(), node)], [call])
        self.do_If(ast.fix_missing_locations(ast.copy_location(check, node)))

    def do_Raise(self, node: ast.Raise) -> None:
        """raise: a prim::RaiseException with the message and the exception's name."""
        message, kind = self.constant(node, ""), list[Value]()
        if isinstance(node.exc, ast.Call):  # of a class that is not called, neither name nor words are told
            name = ast.unparse(node.exc.func)
            kind += [self.constant(node, f"builtins.{name}")] * bool(name)
            values = [self.expr(a) for a in node.exc.args]
            if len(values) > 1:
                form = self.constant(node, f"({', '.join('{}' for _ in values)})")
                message = self.call_builtin("aten::format", [form, *values], {}, node)
            elif values:
                plain = values[0].type == STR
                message = values[0] if plain else self.call_builtin("aten::str", values, {}, node)
        self.call_builtin("prim::RaiseException", [message, *kind], {}, node)
        self.env["$dead"] = True

    def body(self, statements: list[ast.stmt]) -> None:
        """A sequence of statements; told in statements.py, as assign is."""
        raise NotImplementedError

    def assign(self, target: Any, found: Any, node: Any) -> None:
        """target = found."""
        raise NotImplementedError


def _kinds(t: Type) -> list[str]:
    return [part.kind for part in t.args]


def _alternatives(t: Type) -> tuple[Type, ...]:
    """What a value of the type may be."""
    if t.kind == "Union":
        return tuple(dict.fromkeys(one for part in t.args for one in _alternatives(part)))
    return (*_alternatives(t.args[0]), NONE) if t.kind == "Optional" else (t,)


def _either(one: dict[str, Type], other: dict[str, Type]) -> dict[str, Type]:
    """What is known of variables where one of two conditions holds."""
    return {
        name: _joined(list(dict.fromkeys((*_alternatives(t), *_alternatives(other[name])))))
        for name, t in one.items()
        if name in other
    }


def _joined(parts: list[Type]) -> Type:
    """The type of what may be any of the parts."""
    known = [t for t in parts if t != NONE]
    if not known:
        return NONE
    one = known[0] if len(known) == 1 else Type("Union", tuple(known))
    return one if len(known) == len(parts) else Type("Optional", (one,))
