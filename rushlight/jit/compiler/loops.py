"""Loops: over numbers, lists and what the compiler knows one by one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import EnumType
from functools import partial
from typing import Any

from rushlight.jit.compiler import exits
from rushlight.jit.compiler.conditions import Conditions
from rushlight.jit.compiler.expressions import OPEN
from rushlight.jit.compiler.values import Items, Known, Missing
from rushlight.jit.frontend import NotSupportedError, UnsupportedNodeError
from rushlight.jit.program.ir import Block, Node, Value
from rushlight.jit.program.types import INT, STR, TENSOR, Type, list_of, subtype


class Loops(Conditions):
    """The compiler's part for loops."""

    def do_While(self, node: ast.While) -> None:
        """while: a prim::Loop that carries the names that its body assigns. An error for else."""
        if node.orelse:
            raise NotSupportedError(self.source, node, "else branches of while loops aren't supported")
        self.loop(node, lambda: self.condition(node.test), None)

    def condition(self, node: Any) -> Value:
        """A condition as a value."""
        found, _, _ = self.test(node)
        return self.constant(node, found) if isinstance(found, bool) else found

    def do_For(self, node: ast.For) -> None:
        """for: a prim::Loop over a number or a list; unrolled over tuples and modules. An error for else."""
        if node.orelse:
            raise NotSupportedError(self.source, node, "else branches of for loops aren't supported")
        if isinstance(node.target, ast.Starred):
            raise self.error(
                node,
                "A Starred expression may only appear on the lhs within the presence of another non-starred "
                "expression",
            )
        if isinstance(node.iter, ast.Tuple) and self.source.file == "<string>" and _bare(node.iter):
            raise self.error(node, "List of iterables is not supported currently")
        found = self.iterable(node.iter)
        if isinstance(found, list):
            if getattr(node, "left", None) is not None:
                raise self.error(
                    node.left,  # type: ignore[attr-defined]
                    "Because we emit iteration over modulelists or tuples as unrolled loops, we do not "
                    "support break or continue inside the body of these loops",
                )
            self.unrolled(node, found)
            return
        count, element = found

        def begin(i: Value) -> None:
            self.assign(node.target, element(i), node)

        def begin_and_count() -> None:
            begin(self.env[counter])
            one = self.constant(node, 1)
            after = self.call_builtin("aten::add", [self.env[counter], one], {}, node)
            self.assign(ast.Name(counter), after, node)

        if getattr(node, "leaves", None):
            counter, zero = f"$i{id(node)}", self.constant(node, 0)
            self.env[counter] = zero
            self.loop(
                node,
                lambda: self.call_builtin("aten::lt", [self.env[counter], count], {}, node),
                None,
                begin_and_count,
            )
        else:
            self.loop(node, None, count, begin)

    def unrolled(self, node: ast.For, items: list[Any]) -> None:
        """The body for one item after the other; what follows a return is in blocks of prim::If."""
        broken = getattr(node, "leaves", None)
        if broken:
            self.env[broken] = self.constant(node, False)
            self.before_results(node, [exits.RESULT])
        self._unrolled(node, items, broken)

    def _unrolled(self, node: ast.For, items: list[Any], broken: str | None) -> None:
        for i, item in enumerate(items):
            self.assign(node.target, item, node)
            self.body(node.body)
            if self.env.pop(exits.LEFT, None) or self.env.get("$dead"):
                return
            rest = items[i + 1 :]
            if broken and rest:
                sides = (self._leave, partial(self._behind, node, rest, broken))
                self.branches(self.env[broken], sides, ({}, {}), node)
                return

    def _leave(self) -> None:
        self.env[exits.LEFT] = True

    def _behind(self, node: ast.For, items: list[Any], broken: str) -> None:
        """The other items, in a side of an if."""
        self.around = self.around_if
        self._unrolled(node, items, broken)

    def before_results(self, node: Any, changed: list[str]) -> None:
        """Have something stand for a result that a loop may give."""
        for name in [n for n in changed if n == exits.RESULT and not isinstance(self.env.get(n), Value)]:
            self.env[name] = self.emit(node, "prim::Uninitialized", (), self.function.returns or OPEN).output

    def iterable(self, node: Any) -> Any:
        """What a loop goes over: a list of things known one by one, or (count, function from number to
        element).
        """
        if isinstance(node, ast.Call):
            function = self.sugar(node.func)
            name = self.names.special(function.object) if isinstance(function, Known) else None
            if name in ("range", "enumerate", "zip"):
                return getattr(self, f"over_{name}")(node)
        found = self.sugar(node)
        if isinstance(found, Value) and found.type.kind == "Class" and found.type.cls.is_module:
            entries = self.names.entries(found, node, self)
            if self.names.by_name(found.type.cls):
                return [self.constant(node, name) for name in entries]
            return list(entries.values())
        if isinstance(found, Items):
            return found.items
        if isinstance(found, Known) and isinstance(found.object, EnumType):
            members: Any = found.object
            return [self.value(Known(member), node) for member in members]
        value = self.value(found, node)
        if value.type.kind == "Tuple":
            return list(self.emit(node, "prim::TupleUnpack", [value], *value.type.args).outputs)
        if value.type.kind == "Dict":
            value = self.call_builtin("aten::keys", [value], {}, node)
        elif value.type == TENSOR:
            count = self.call_builtin("aten::len", [value], {}, node)
            rows = self.call_builtin("aten::unbind", [value], {}, node)
            return count, lambda i: self.call_builtin("aten::__getitem__", [rows, i], {}, node)
        elif value.type.kind not in ("List", "str"):
            raise self.error(node, f"'{value.type}' object is not iterable")
        get = "prim::StringIndex" if value.type == STR else "aten::__getitem__"
        count = self.call_builtin("aten::len", [value], {}, node)
        return count, lambda i: self.call_builtin(get, [value, i], {}, node)

    def over_range(self, node: ast.Call) -> Any:
        """range(...)."""
        if not 1 <= len(node.args) <= 3:
            bound = "least 1 arguments" if not node.args else "most 3 arguments"
            raise self.error(node, f"range expected at {bound}, got {len(node.args)}")
        args = [self.expr(a) for a in node.args]
        for i, a in enumerate(args):
            why = f"all inputs of range must be ints, found {{actual}} in argument {i}"
            args[i] = a if a.type == INT else self.convert(a, INT, node, why)
        if len(args) == 1:
            return args[0], lambda i: i
        start, stop, step = (*args, self.constant(node, 1))[:3]
        count = self.call_builtin("aten::__range_length", [start, stop, step], {}, node)
        return count, lambda i: self.call_builtin("aten::__derive_index", [i, start, step], {}, node)

    def over_enumerate(self, node: ast.Call) -> Any:
        """enumerate(x, start)."""
        start = self.expr(node.args[1]) if len(node.args) > 1 else self.constant(node, 0)
        found = self.iterable(node.args[0])

        def add(index: Value) -> Any:
            return self.call_builtin("aten::add", [index, start], {}, node)

        if isinstance(found, list):
            first = ast.literal_eval(node.args[1]) if len(node.args) > 1 else 0
            return [Items([self.constant(node, first + i), x]) for i, x in enumerate(found)]
        return found[0], lambda i: Items([add(i), found[1](i)])

    def over_zip(self, node: ast.Call) -> Any:
        """zip(a, b, ...)."""
        found = [self.iterable(a) for a in node.args]
        if all(isinstance(f, list) for f in found):
            return [Items(list(x)) for x in zip(*found, strict=False)]
        if any(isinstance(f, list) for f in found):
            raise self.error(
                node,
                "Can not iterate over a module list or tuple with a value that does not have a statically "
                "determinable length\n",
            )
        counts = self.list_value([f[0] for f in found], node, INT)
        count = self.call_builtin("prim::min", [counts], {}, node)
        return count, lambda i: Items([f[1](i) for f in found])

    def loop(
        self,
        node: Any,
        condition: Callable[[], Value] | None,
        count: Value | None,
        begin: Callable[..., Any] | None = None,
    ) -> None:
        """A loop: while `condition()` holds, or `count` times. begin(number): done first in each round."""
        broken = getattr(node, "leaves", None)
        if broken:
            self.env[broken] = self.constant(node, False)
        changed = [n for n in _assigned(node) | ({broken} if broken else set()) if n]
        changed += [n for n in self.env if n.startswith("$i") and n == f"$i{id(node)}"]
        self.before_results(node, changed)
        carried = [
            n
            for n in dict.fromkeys([*self.env, *changed])
            if n in changed and isinstance(self.env.get(n), Value)
        ]
        before = dict(self.env)
        first = count if condition is None else condition()
        made = self.emit(
            node,
            "prim::Loop",
            [first, *(before[n] for n in carried)],  # type: ignore[list-item]
            **{"while": condition is not None},
        )
        outer, self.block = self.block, Block()
        made.blocks.append(self.block)
        number = self.block.param(INT) if condition is None else None
        for name in carried:
            self.env[name] = self.block.param(before[name].type, "" if name.startswith("$") else name)
        params = [self.env[n] for n in carried]
        around, self.around = self.around, dict(self.env)
        if begin is not None:
            begin(number) if number is not None else begin()
        self.body(node.body)
        again = []
        if condition is not None:
            again = [self.proceed(condition, broken, node)]
        self.close(made, carried, params, again, node)
        self.block, self.around, ends = outer, around, self.env
        self.env = {**before, **dict(zip(carried, made.outputs, strict=True))}
        for name in ends:
            if isinstance(ends[name], Missing) and ends[name].held is not None:
                self.env[name] = ends[name]  # it was deleted
            elif name not in before and not name.startswith("$"):
                self.env[name] = Missing(
                    f"{name} is not defined before the loop, which may not run", self.source.show(node)
                )

    def proceed(self, condition: Callable[[], Value], broken: str | None, node: Any) -> Value:
        """Whether a while loop goes on."""
        if broken is None:
            return condition()
        left = self.call_builtin("aten::__not__", [self.env[broken]], {}, node)
        return self.choose(left, condition, lambda: self.constant(node, False), node)

    def close(
        self, made: Node, carried: list[str], params: list[Value], again: list[Value], node: Any
    ) -> None:
        """The end of a loop's body: what it carries on."""
        ends = []
        for name, param in zip(carried, params, strict=True):
            found = self.env[name]
            held = found.held if isinstance(found, Missing) else None
            end = self.value(found, node) if held is None else held
            initial = made.inputs[1 + carried.index(name)]
            for value in (param, initial):
                value.type = end.type if value.type == OPEN else value.type
            if not subtype(end.type, param.type):
                raise self.error(
                    node,
                    f"Variable '{name}' previously had type {param.type} but is now being assigned to a "
                    f"value of type {end.type}",
                )
            ends.append(end)
            made.outputs.append(Value(param.type, made, param.hint))
        self.block.finish([*again, *ends])

    def at_ListComp(self, node: ast.ListComp, wanted: Type | None = None) -> Any:
        """A list comprehension: a loop that appends; unrolled over tuples and modules."""
        self.refuse_list(node, wanted)
        found = self._comprehension(node)
        generator = node.generators[0]
        kept = dict(self.env)
        if isinstance(found, list):
            values = []
            for item in found:
                self.assign(generator.target, item, node)
                values.append(self.expr(node.elt))
            self.env = kept
            return self.list_value(values, node, None)
        made = self.emit(node, "prim::ListConstruct", (), list_of(OPEN)).output

        def add() -> None:
            value = self.expr(node.elt)
            made.type = list_of(value.type)
            self.call_builtin("aten::append", [made, value], {}, node)

        return self._collected(node, found, made, add)

    def at_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        """A generator is the list that it gives."""
        made = ast.ListComp(node.elt, node.generators)
        return self.at_ListComp(ast.copy_location(made, node))

    def at_DictComp(self, node: ast.DictComp) -> Any:
        """A dict comprehension: a loop that sets items."""
        found = self._comprehension(node)
        made = self.emit(node, "prim::DictConstruct", (), Type("Dict", (OPEN, OPEN))).output

        def add() -> None:
            key, value = self.expr(node.key), self.expr(node.value)
            if key.type.kind in ("Union", "Optional"):
                told = "Dicts may only contain homogeneous keys, but the type of the first generated key was "
                raise self.error(node, f"{told}{key.type}")
            made.type = Type("Dict", (key.type, value.type))
            self.call_builtin("aten::_set_item", [made, key, value], {}, node)

        return self._collected(node, found, made, add)

    def _comprehension(self, node: Any) -> Any:
        """What a comprehension goes through: known items, or a length and what gives one of them."""
        if len(node.generators) != 1:
            raise self.error(node, "Only a single generator is currently supported")
        if node.generators[0].ifs:
            raise UnsupportedNodeError(self.source, node, "Comprehension ifs are not supported yet")
        return self.iterable(node.generators[0].iter)

    def _collected(self, node: Any, found: Any, made: Value, add: Callable[[], None]) -> Value:
        """A loop that adds an item to what is made in each round."""
        generator = node.generators[0]
        kept = dict(self.env)
        if isinstance(found, list):
            for item in found:
                self.assign(generator.target, item, node)
                add()
        else:
            loop = ast.copy_location(ast.For(generator.target, generator.iter, [], []), node)

            def begin(i: Value) -> None:
                self.assign(generator.target, found[1](i), node)
                add()

            self.loop(loop, None, found[0], begin)
        self.env = kept
        return made


def _bare(node: ast.Tuple) -> bool:
    """Whether a tuple stands there without brackets."""
    first = node.elts[0] if node.elts else node
    return (first.lineno, first.col_offset) == (node.lineno, node.col_offset) and bool(node.elts)


def _assigned(node: Any) -> set[str]:
    """The variables that a loop's body assigns."""
    names = {
        n.id
        for part in [*node.body, getattr(node, "target", ast.Pass())]
        for n in ast.walk(part)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    augmented = {
        n.target.id
        for part in node.body
        for n in ast.walk(part)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return names | augmented
