"""Statements: assignments, conditions with what they tell about types, loops; and whole functions."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from rushlight.jit import exits
from rushlight.jit.calls import Calls
from rushlight.jit.expressions import OPEN
from rushlight.jit.frontend import UnsupportedNodeError
from rushlight.jit.ir import Block, Node, Value, read
from rushlight.jit.tidy import tidy
from rushlight.jit.types import BOOL, INT, NONE, STR, TENSOR, Type, list_of, subtype, unify
from rushlight.jit.values import Items, Known, Missing

_WHOLE = 9223372036854775807


class Compiler(Calls):
    """Compiles one function: `function` gets its block, and its result type where it has none."""

    def run(self, tree: ast.FunctionDef) -> None:
        """Compile the body."""
        for name, t, _ in self.function.arguments:
            self.env[name] = self.block.param(t, name)
        if self.function.owner is not None and self.function.arguments:
            self.block.params[0].hint = "self"
        self.body(exits.structured(tree.body))
        result = self.env.get(exits.RESULT)
        if result is None or self.env.get("$dead") and result is None:
            result = self.result(self.constant(tree, None), tree)
        result = self.value(result, tree)
        self.function.returns = self.function.returns or result.type
        self.block.finish([result])
        tidy(self.block)
        self.function.finished = True

    def body(self, statements: list[ast.stmt]) -> None:
        """A sequence of statements."""
        for node in statements:
            method = getattr(self, f"do_{type(node).__name__}", None)
            if method is None:
                raise UnsupportedNodeError(self.source, node)
            method(node)

    # --- assignments ----------------------------------------------------------------------------

    def do_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.sugar(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        if getattr(node, "is_return", False):
            self.env[exits.RESULT] = self.result(self.value(self.sugar(node.value, self.function.returns), node), node)
            return
        known = self.env.get(node.targets[0].id) if isinstance(node.targets[0], ast.Name) else None
        found = self.sugar(node.value, known.type if isinstance(known, Value) else None)
        for target in node.targets:
            self.assign(target, found, node)

    def result(self, value: Value, node: Any) -> Value:
        """A value that is returned, as the function's type."""
        wanted, known = self.function.returns, self.env.get(exits.RESULT)
        if wanted is not None:
            return self.convert(value, wanted, node, "Return value was annotated as having type {wanted} but is "
                                                     "actually of type {actual}")
        first = self.__dict__.setdefault("first_return", value.type)
        if unify(first, value.type) is None and not isinstance(known, Missing):
            names = ["Tensor (inferred)" if t == TENSOR else str(t) for t in (first, value.type)]
            raise self.error(node, f"Previous return statement returned a value of type {names[0]} but this return "
                                   f"statement returns a value of type {names[1]}")
        return value

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        t = self.names.annotation(node.annotation, self)
        if node.value is None:
            raise self.error(node, "Expected a value in an annotated assignment")
        value = self.expr(node.value, t)
        found = self.convert(value, t, node, "Variable '" + ast.unparse(node.target) + "' is annotated with type "
                             "{wanted} but is being assigned to a value of type {actual}")
        if found.type != t:
            found = self.emit(node, "prim::unchecked_cast", [found], t).output
        self.assign(node.target, found, node)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        for part in ast.walk(load):
            ast.copy_location(part, node)
        old = self.expr(load)
        new = self.binary(node.op, old, self.expr(node.value), node, inplace=True)
        if not (isinstance(node.target, ast.Subscript) and old.type == TENSOR):
            self.assign(node.target, new, node)

    def assign(self, target: Any, found: Any, node: Any) -> None:
        """target = found."""
        if isinstance(target, ast.Name):
            old = self.env.get(target.id)
            if isinstance(found, Value):
                if isinstance(old, Value) and old.type.kind not in ("open", "Class") and (
                        unify(old.type, found.type) is None and not target.id.startswith(("$", "_"))):
                    raise self.error(node, f"Variable '{target.id}' previously had type {old.type} but is now being "
                                           f"assigned to a value of type {found.type}")
                if found.node and found.node.kind not in ("prim::Constant", "prim::Param") and not found.hint:
                    found.hint = "" if target.id.startswith(("$", "_")) else target.id
            self.env[target.id] = found
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, found, node)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.expr(target.value), target.attr, self.value(found, node), node)
        elif isinstance(target, ast.Subscript):
            self.set_item(self.expr(target.value), target, self.value(found, node), node)
        else:
            raise UnsupportedNodeError(self.source, target)

    def unpack(self, target: Any, found: Any, node: Any) -> None:
        """a, b = found."""
        count = len(target.elts)
        if isinstance(found, Value) and found.type == TENSOR:
            found = self.call_builtin("aten::unbind", [found], {}, node)
        if isinstance(found, Value) and found.type.kind not in ("Tuple", "List"):
            raise self.error(node, f"{found.type} cannot be used as a tuple")
        parts = self.parts(found, count, node) if isinstance(found, Value) else found.items
        if len(parts) != count:
            raise self.error(node, f"need {max(len(parts), count)} values to unpack: expected {count}, got "
                                   f"{len(parts)}")
        for one, part in zip(target.elts, parts, strict=True):
            self.assign(one, part, node)

    def set_attribute(self, base: Value, name: str, value: Value, node: Any) -> None:
        """base.name = value."""
        owner = base.type.home if base.type.kind == "Class" else None
        if owner is None:
            raise self.error(node, f"Tried to set an attribute: {name} on a non-class: {base.type}")
        if name not in owner.fields:
            if owner.is_module or self.function.name != "__init__":
                raise self.error(node, f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                                       "__init__()?")
            owner.fields[name], owner.kinds[name] = value.type, "attribute"
        message = f"Wrong type for attribute assignment. Expected {{wanted}} but got {{actual}}"  # noqa: F541
        self.emit(node, "prim::SetAttr", [base, self.convert(value, owner.fields[name], node, message)], name=name)

    def set_item(self, base: Value, target: ast.Subscript, value: Value, node: Any) -> None:
        """base[...] = value."""
        if base.type != TENSOR:
            self.call_builtin("aten::_set_item", [base, self.expr(target.slice), value], {}, node)
            return
        place = self.indexed(base, target.slice, node)
        made = place.node
        if made is not None and made.kind == "aten::index":
            self.block.nodes.remove(made)
            for source in made.inputs:
                source.uses = [use for use in source.uses if use[0] is not made]
            stored = value if value.type == TENSOR else self.call_builtin("aten::tensor", [value], {}, node)
            self.call_builtin("aten::index_put_", [*made.inputs, stored], {}, node)
        else:
            self.call_builtin("aten::copy_" if value.type == TENSOR else "aten::fill_", [place, value], {}, node)

    def do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise UnsupportedNodeError(self.source, node)
            self.call_builtin("aten::Delete", [self.expr(target.value), self.expr(target.slice)], {}, node)

    # --- conditions -----------------------------------------------------------------------------

    def test(self, node: Any) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found, yes, no = self.test(node.operand)
            if isinstance(found, bool):
                return not found, no, yes
            return self.call_builtin("aten::__not__", [found], {}, node), no, yes
        if isinstance(node, ast.BoolOp):
            return self.both(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
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

        def right() -> Value:
            self.refine(yes if conj else no, node)
            value, *more[:] = self.both(other)
            return self.constant(node, value) if isinstance(value, bool) else value

        def left() -> Value:
            return self.constant(node, not conj)

        value = self.choose(found, right if conj else left, left if conj else right, node)
        return value, ({**yes, **more[0]} if conj else {}), ({} if conj else {**no, **more[1]})

    def at_BoolOp(self, node: ast.BoolOp) -> Any:
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
        if not isinstance(found, Value) or found.type.kind not in ("Optional", "NoneType", "Union", "Any", "open"):
            return not positive, {}, {}
        if found.type == NONE:
            return positive, {}, {}
        refined = {place.id: found.type.args[0]} if isinstance(place, ast.Name) and found.type.args else {}
        kind = "aten::__is__" if positive else "aten::__isnot__"
        value = self.call_builtin(kind, [found, self.constant(node, None)], {}, node)
        return (value, {}, refined) if positive else (value, refined, {})

    def is_instance(self, node: ast.Call) -> tuple[Any, dict[str, Type], dict[str, Type]]:
        """isinstance(x, T)."""
        place, kinds = node.args
        value = self.expr(place)
        bare = {"list": "List", "dict": "Dict", "tuple": "Tuple"}
        names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        types = [Type(bare[ast.unparse(n)]) if ast.unparse(n) in bare else self.names.annotation(n, self)
                 for n in names]

        def fits(t: Type) -> bool:
            return any(subtype(t, w) or (not w.args and w.kind in bare.values() and w.kind == t.kind) for w in types)

        parts = value.type.args if value.type.kind == "Union" else (
            (value.type.args[0], NONE) if value.type.kind == "Optional" else (value.type,))
        yes = [t for t in parts if fits(t)]
        if value.type.kind == "Any":
            yes, parts = types, (*types, NONE)
        if len(yes) in (0, len(parts)):
            return bool(yes), {}, {}
        no = [t for t in parts if t not in yes]
        found = self.emit(node, "prim::isinstance", [value], BOOL, types=types).output
        name = place.id if isinstance(place, ast.Name) else ""
        return found, *({name: one[0] if len(one) == 1 else Type("Union", tuple(one))}  # type: ignore[return-value]
                        if name and value.type.kind != "Any" or len(one) == 1 else {} for one in (yes, no))

    def has_attribute(self, node: ast.Call) -> bool:
        """hasattr(x, "name")."""
        value, name = self.expr(node.args[0]), ast.literal_eval(node.args[1])
        owner = value.type.home if value.type.kind == "Class" else None
        return owner is not None and (name in owner.fields or name in owner.constants or owner.method(name) is not None)

    def refine(self, types: dict[str, Type], node: Any) -> None:
        """Take variables for what a condition says that they are."""
        for name, t in types.items():
            value = self.env.get(name)
            if isinstance(value, Value) and value.type != t:
                made = self.emit(node, "prim::unchecked_cast", [value], t).output
                made.hint = name
                self.env[name] = made

    def at_IfExp(self, node: ast.IfExp, wanted: Type | None = None) -> Any:
        found, yes, no = self.test(node.test)
        if isinstance(found, bool):
            return self.sugar(node.body if found else node.orelse, wanted)

        def side(part: Any, types: dict[str, Type]) -> Callable[[], Value]:
            return lambda: (self.refine(types, node), self.expr(part, wanted))[1]  # type: ignore[func-returns-value]

        return self.choose(found, side(node.body, yes), side(node.orelse, no), node)

    def choose(self, found: Value, yes: Callable[[], Value], no: Callable[[], Value], node: Any) -> Value:
        """The value of one side, by a condition."""
        made = self.emit(node, "prim::If", [found])
        kept, outer, sides = self.env, self.block, []
        for side in (yes, no):
            self.env, self.block = dict(kept), Block()
            made.blocks.append(self.block)
            sides.append(side())
        self.env, self.block = kept, outer
        t = unify(sides[0].type, sides[1].type)
        if t is None:
            raise self.error(node, f"Type mismatch: the if-expression has type {sides[0].type} in the true branch and "
                                   f"type {sides[1].type} in the false branch")
        for block, value in zip(made.blocks, sides, strict=True):
            block.finish([value])
        made.outputs = [Value(t, made)]
        return made.output

    def do_If(self, node: ast.If) -> None:
        found, yes, no = self.test(node.test)
        if isinstance(found, bool):
            self.refine(yes if found else no, node)
            self.body(node.body if found else node.orelse)
            return
        made = self.emit(node, "prim::If", [found])
        before, outer, ends = self.env, self.block, []
        for statements, types in ((node.body, yes), (node.orelse, no)):
            self.env, self.block = dict(before), Block()
            made.blocks.append(self.block)
            self.refine(types, node)
            self.body(statements)
            ends.append(self.env)
        self.env, self.block = dict(before), outer
        self.join(made, ends, node)

    def join(self, made: Node, ends: list[dict[str, Any]], node: Any) -> None:
        """After an if, a variable is what either side made of it."""
        outputs: list[list[Value]] = [[], []]
        dead = [bool(end.get("$dead")) for end in ends]
        if all(dead):
            self.env["$dead"] = True
        for name in dict.fromkeys([*ends[0], *ends[1]]):
            pair = [end.get(name) for end in ends]
            if name == "$dead":
                continue
            if pair[0] is pair[1]:
                self.env[name] = pair[0]
            elif any(dead) and not all(dead) and not isinstance(pair[dead.index(False)], Value):
                self.env[name] = pair[dead.index(False)]
            else:
                self.merge(name, pair, made, outputs, dead, node)
        for block, values in zip(made.blocks, outputs, strict=True):
            block.finish(values)

    def merge(self, name: str, pair: list[Any], made: Node, outputs: list[list[Value]], dead: list[bool],
              node: Any) -> None:
        """One variable after an if."""
        internal = name.startswith("$")
        for i in (0, 1):
            other = pair[1 - i]
            if isinstance(other, Value) and not isinstance(pair[i], Value) and (internal or dead[i]) or (
                    dead[i] and isinstance(other, Value)):
                pair[i] = made.blocks[i].add("prim::Uninitialized", (), [other.type]).output
        if not all(isinstance(p, Value) for p in pair):
            side = ["true", "false"][not isinstance(pair[1], Value)]
            if name in self.env or any(isinstance(p, (Items, Known)) for p in pair):
                self.env[name] = pair[0] if isinstance(pair[0], (Items, Known)) else pair[1]
            elif not isinstance(self.env.get(name), Value):
                self.env[name] = Missing(f"{name} is not defined in the {side} branch", self.source.show(node))
            return
        for a, b in (pair, pair[::-1]):
            if a.type == OPEN:
                a.type = b.type
        t = unify(pair[0].type, pair[1].type)
        if t is None:
            self.env[name] = Missing(f"Type mismatch: {name} is set to type {pair[0].type} in the true branch and type "
                                     f"{pair[1].type} in the false branch", self.source.show(node))
            return
        made.outputs.append(Value(t, made, "" if internal or name.startswith("_") else name))
        self.env[name] = made.outputs[-1]
        for values, value in zip(outputs, pair, strict=True):
            values.append(value)

    def do_Assert(self, node: ast.Assert) -> None:
        message = ast.Constant("AssertionError: ") if node.msg else ast.Constant("AssertionError: ")
        text: ast.expr = message if node.msg is None else ast.BinOp(message, ast.Add(), node.msg)
        call = ast.Raise(ast.Call(ast.Name("RuntimeError", ast.Load()), [text], []), None)
        check = ast.If(node.test, [ast.copy_location(ast.Pass(), node)], [call])
        self.do_If(ast.fix_missing_locations(ast.copy_location(check, node)))

    def do_Raise(self, node: ast.Raise) -> None:
        name, message = "", self.constant(node, "")
        if isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func)
            values = [self.expr(a) for a in node.exc.args]
            if values:
                message = values[0] if values[0].type == STR else self.call_builtin("aten::str", [values[0]], {}, node)
        elif node.exc is not None:
            name = ast.unparse(node.exc)
        kind = [self.constant(node, f"builtins.{name}")] if name and name not in ("RuntimeError", "Exception") else []
        self.call_builtin("prim::RaiseException", [message, *kind], {}, node)
        self.env["$dead"] = True

    # --- loops ----------------------------------------------------------------------------------

    def do_While(self, node: ast.While) -> None:
        self.loop(node, lambda: self.condition(node.test), None)

    def condition(self, node: Any) -> Value:
        """A condition as a value."""
        found, _, _ = self.test(node)
        return self.constant(node, found) if isinstance(found, bool) else found

    def do_For(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node, "else branches of for loops aren't supported")
        found = self.iterable(node.iter)
        if isinstance(found, list):
            for item in found:
                self.assign(node.target, item, node)
                self.body(node.body)
            return
        count, element = found

        def begin(i: Value) -> None:
            self.assign(node.target, element(i), node)

        if getattr(node, "leaves", None):
            counter, zero = f"$i{id(node)}", self.constant(node, 0)
            self.env[counter] = zero
            self.loop(node, lambda: self.call_builtin("aten::lt", [self.env[counter], count], {}, node), None,
                      lambda: (begin(self.env[counter]), self.assign(ast.Name(counter), self.call_builtin(
                          "aten::add", [self.env[counter], self.constant(node, 1)], {}, node), node)))
        else:
            self.loop(node, None, count, begin)

    def iterable(self, node: Any) -> Any:
        """What a loop goes over: a list of things known one by one, or (count, function from number to element)."""
        if isinstance(node, ast.Call):
            function = self.sugar(node.func)
            name = self.names.special(function.object) if isinstance(function, Known) else None
            if name in ("range", "enumerate", "zip"):
                return getattr(self, f"over_{name}")(node)
        found = self.sugar(node)
        if isinstance(found, Value) and found.type.kind == "Class" and found.type.home.is_module:
            return self.names.children(found, node, self)
        if isinstance(found, Items):
            return found.items
        value = self.value(found, node)
        if value.type.kind == "Tuple":
            return list(self.emit(node, "prim::TupleUnpack", [value], *value.type.args).outputs)
        if value.type.kind == "Dict":
            value = self.call_builtin("aten::keys", [value], {}, node)
        elif value.type == TENSOR:
            value = self.call_builtin("aten::unbind", [value], {}, node)
        elif value.type.kind not in ("List", "str"):
            raise self.error(node, f"'{value.type}' object is not iterable")
        get = "prim::StringIndex" if value.type == STR else "aten::__getitem__"
        count = self.call_builtin("aten::len", [value], {}, node)
        return count, lambda i: self.call_builtin(get, [value, i], {}, node)

    def over_range(self, node: ast.Call) -> Any:
        """range(...)."""
        args = [self.expr(a) for a in node.args]
        for i, a in enumerate(args):
            args[i] = a if a.type == INT else self.convert(a, INT, node, "range() expects int, got {actual}")
        if len(args) == 1:
            return args[0], lambda i: i
        start, stop, step = (*args, self.constant(node, 1))[:3]
        count = self.call_builtin("aten::__range_length", [start, stop, step], {}, node)
        return count, lambda i: self.call_builtin("aten::__derive_index", [i, start, step], {}, node)

    def over_enumerate(self, node: ast.Call) -> Any:
        """enumerate(x, start)."""
        start = self.expr(node.args[1]) if len(node.args) > 1 else self.constant(node, 0)
        found = self.iterable(node.args[0])
        add = lambda i: self.call_builtin("aten::add", [i, start], {}, node)  # noqa: E731
        if isinstance(found, list):
            first = ast.literal_eval(node.args[1]) if len(node.args) > 1 else 0
            return [Items([self.constant(node, first + i), x]) for i, x in enumerate(found)]
        return found[0], lambda i: Items([add(i), found[1](i)])

    def over_zip(self, node: ast.Call) -> Any:
        """zip(a, b, ...)."""
        found = [self.iterable(a) for a in node.args]
        if all(isinstance(f, list) for f in found):
            return [Items(list(x)) for x in zip(*found, strict=False)]
        fixed = [f for f in found if isinstance(f, list)]
        if fixed:
            rows = [[f[i] if isinstance(f, list) else f[1](self.constant(node, i)) for f in found]
                    for i in range(len(fixed[0]))]
            return [Items(row) for row in rows]
        counts = self.list_value([f[0] for f in found], node, INT)
        count = self.call_builtin("prim::min", [counts], {}, node)
        return count, lambda i: Items([f[1](i) for f in found])

    def loop(self, node: Any, condition: Callable[[], Value] | None, count: Value | None,
             begin: Callable[..., Any] | None = None) -> None:
        """A loop: while `condition()` holds, or `count` times. begin(number): done first in each round."""
        broken = getattr(node, "leaves", None)
        if broken:
            self.env[broken] = self.constant(node, False)
        changed = [n for n in _assigned(node) | ({broken} if broken else set()) if n]
        changed += [n for n in self.env if n.startswith("$i") and n == f"$i{id(node)}"]
        for name in [n for n in changed if n == exits.RESULT and not isinstance(self.env.get(n), Value)]:
            self.env[name] = self.emit(node, "prim::Uninitialized", (), self.function.returns or OPEN).output
        carried = [n for n in dict.fromkeys([*self.env, *changed]) if n in changed and isinstance(
            self.env.get(n), Value)]
        before = dict(self.env)
        first = count if condition is None else condition()
        made = self.emit(node, "prim::Loop", [first, *(before[n] for n in carried)],  # type: ignore[list-item]
                         **{"while": condition is not None})
        outer, self.block = self.block, Block()
        made.blocks.append(self.block)
        number = self.block.param(INT) if condition is None else None
        for name in carried:
            self.env[name] = self.block.param(before[name].type, "" if name.startswith("$") else name)
        params = [self.env[n] for n in carried]
        if begin is not None:
            begin(number) if number is not None else begin()  # type: ignore[call-arg]
        self.body(node.body)
        again = []
        if condition is not None:
            again = [self.proceed(condition, broken, node)]
        self.close(made, carried, params, again, node)
        self.block, ends = outer, self.env
        self.env = {**before, **dict(zip(carried, made.outputs, strict=True))}
        for name in ends:
            if name not in before and not name.startswith("$"):
                self.env[name] = Missing(f"{name} is not defined before the loop, which may not run",
                                         self.source.show(node))

    def proceed(self, condition: Callable[[], Value], broken: str | None, node: Any) -> Value:
        """Whether a while loop goes on."""
        if broken is None:
            return condition()
        left = self.call_builtin("aten::__not__", [self.env[broken]], {}, node)
        return self.choose(left, condition, lambda: self.constant(node, False), node)

    def close(self, made: Node, carried: list[str], params: list[Value], again: list[Value], node: Any) -> None:
        """The end of a loop's body: what it carries on."""
        ends = []
        for name, param in zip(carried, params, strict=True):
            end = self.value(self.env[name], node)
            if param.type == OPEN:
                initial = made.inputs[1 + carried.index(name)]
                param.type = initial.type = end.type
            if not subtype(end.type, param.type):
                raise self.error(node, f"Variable '{name}' previously had type {param.type} but is now being assigned "
                                       f"to a value of type {end.type}")
            ends.append(end)
            made.outputs.append(Value(param.type, made, param.hint))
        self.block.finish([*again, *ends])

    def at_ListComp(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1:
            raise self.error(node, "Only a single generator is currently supported")
        generator = node.generators[0]
        if generator.ifs:
            raise UnsupportedNodeError(self.source, node, "Comprehension ifs are not supported yet")
        found = self.iterable(generator.iter)
        kept = dict(self.env)
        if isinstance(found, list):
            values = []
            for item in found:
                self.assign(generator.target, item, node)
                values.append(self.expr(node.elt))
            self.env = kept
            return self.list_value(values, node, None)
        made = self.emit(node, "prim::ListConstruct", (), list_of(OPEN)).output
        loop = ast.copy_location(ast.For(generator.target, generator.iter, [], []), node)

        def begin(i: Value) -> None:
            self.assign(generator.target, found[1](i), node)
            value = self.expr(node.elt)
            made.type = list_of(value.type)
            self.call_builtin("aten::append", [made, value], {}, node)

        self.loop(loop, None, found[0], begin)
        self.env = kept
        return made


def _assigned(node: Any) -> set[str]:
    """The variables that a loop's body assigns."""
    names = {n.id for part in [*node.body, getattr(node, "target", ast.Pass())] for n in ast.walk(part)
             if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    augmented = {n.target.id for part in node.body for n in ast.walk(part)
                 if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return names | augmented


__all__ = ["Compiler", "read"]
