"""Matchers: generated functions that recognise, at one node of the trace, a call that was matched there
before.

A call is a row's function, an index expression, a formula, or the rule of an autograd node; it may contain
several ops. If the same call came at the same node with the same operands, the package's own Python in
between need not run again, since it looks at nothing else. A matcher compares the operands and attributes one
by one (by identity where possible), makes the tensors that the caller will see, with pending values and their
autograd nodes (shells.py), and moves the region to the next node of the trace. A call that it does not
recognise goes through matching.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import remember, unrecorded
from rushlight._engine.autograd.node import TRACES, AccumulateGrad, Node as GraphNode
from rushlight._engine.autograd.saved_tensors import version_of
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight._engine.dispatch.interpreters import PLAIN
from rushlight._engine.dispatch.nodes.declared import DeclaredFactory
from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, VersionedList
from rushlight._engine.dispatch.runners.formulas import NodeFactory
from rushlight._engine.tensors.storages.storage import INFERENCE, INFERRING, fresh
from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight._engine.trace.entrances import Entrance, Together, apart, entered, looked, looks
from rushlight._engine.trace.shells import makers
from rushlight._engine.trace.trace import IDENTICAL, PLAINLY, SEQUENCES, Node, Renamed, bump, mentioned, told
from rushlight._engine.trace.writes import free

Matcher = Callable[[Any, tuple[Any, ...]], Any]
_SCOPE: dict[str, Any] = {
    "LOCAL": LOCAL,
    "INFERRING": INFERRING,
    "INFERENCE": INFERENCE,
    "TRACES": TRACES,
    "Tensor": Tensor,
    "AccumulateGrad": AccumulateGrad,
    "bump": bump,
    "free": free,
    "keep_result": keep_result,
    "version_of": version_of,
    "fresh": fresh,
    "new": object.__new__,
    "ref": weakref.ref,
    "remember": remember,
    "storage": storage,
    "unrecorded": unrecorded,
}


class Unknown(Exception):
    """Such a call goes the long way each time."""


def chain(start: Node, end: Node) -> list[Node]:
    """The nodes after `start` up to `end`; empty if it does not lead there."""
    found: list[Node] = []
    node: Node | None = end
    while node is not None and node is not start:
        found.append(node)
        node = node.parent
    return found[::-1] if node is start else []


def build(
    region: Any,
    start: Node,
    end: Node,
    values: tuple[Any, ...],
    found: Any,
    trail: list[Any],
    kind: type[Writer] | None = None,
) -> Matcher | None:
    """The matcher of a call on `values` that went from `start` to `end` and gave `found`, if any.

    trail: what was done beside the ops on the way. kind: who writes it, where that is a call of its own kind.
    """
    nodes = chain(start, end)
    if not nodes:
        return None
    try:
        text, constants = (kind or Writer)(region, nodes, trail).write(values, found)
    except Unknown:
        return None
    return _maker(text)(*constants)


@cache
def _maker(text: str) -> Callable[..., Matcher]:
    return compile_function(
        text, "make", {**_SCOPE, **makers()._asdict(), **looks()._asdict()}, "matched call"
    )


class Writer:
    """The text of one matcher, and the constants that it is made with."""

    # Whether what is done beside the steps cannot be done twice.
    lasting = False

    def __init__(self, region: Any, nodes: list[Node], trail: list[Any]) -> None:
        self.region, self.nodes = region, nodes
        self.made = {place for n in nodes for place in range(n.first, n.count)}
        # Places of which there are several tensors, by where the second was made, and these; nodes that are
        # no step's, by where they were made.
        self.aliased: list[tuple[int, int]] = []
        self.aliases: list[Any] = []
        self.extras: dict[int, list[Any]] = {}
        # A tensor that takes the place of a result of the call, as it is written to.
        self.become: Any = None
        for node, what, *rest in trail:
            if what == "node":
                self.extras.setdefault(id(node), []).append(rest)
            elif what == "become":
                if self.become is not None:
                    raise Unknown
                self.become = rest
            elif what == "name":
                self.extras.setdefault(id(node), []).append((rest[1], rest[0], None))
            else:
                self.aliased.append((node.count, rest[0]))
                self.aliases.append(rest[1])
        if self.extras.keys() - {id(n) for n in nodes}:
            raise Unknown
        self.constants: list[Any] = []
        self._numbers: dict[int, str] = {}
        self.conditions: list[str] = []
        self.lines: list[str] = []
        # What tensors are called: those at places, and the call's own, by their ids.
        self.names: dict[int, str] = {}
        self.given: dict[int, str] = {}
        self.entered = {e[0]: e for n in nodes for e in n.entered}
        self.entrances: list[str] = []
        self.count = 0
        # What is made; what of that is still to be noted as alive.
        self.shells: list[str] = []
        self.unnoted: list[str] = []
        self.checks: list[str] = []

    def constant(self, value: Any) -> str:
        """The name of a constant."""
        name = self._numbers.get(id(value))
        if name is None:
            name = self._numbers[id(value)] = f"c{len(self.constants)}"
            self.constants.append(value)
        return name

    def _fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def write(self, values: tuple[Any, ...], found: Any) -> tuple[str, list[Any]]:
        """(text, constants)."""
        given = [self._fresh("v") for _ in values]
        for value, name in zip(values, given, strict=True):
            self._compare(value, name)
        for n in self.nodes:
            for place in n.args:
                if place < n.first and place not in self.names and not self._made(place):
                    raise Unknown
        if set(self.entered) - self.names.keys():
            raise Unknown
        needed = self._needed(found)
        steps: list[Any] = [n.step for n in self.nodes]
        lasting = self.lasting or any(s.effects or s.bumps or s.writes for s in steps)
        self._modes(bool(self.extras) or any(s.node is not None for s in steps))
        for n in self.nodes:
            self._step(n, needed)
            for function, out, operands in self.extras.get(id(n), ()):
                extra, what = self._extra(out), self.constant(function)
                if operands is None:  # a node's class
                    self.lines.append(f"{extra}._grad_node.__class__ = {what}")
                else:
                    self.lines.append(f"{what}({extra}, {self._extra(operands)})")
        if self.become is not None:
            if found is not self.become[0] or self.become[4].place != self.nodes[-1].first:
                raise Unknown
            self._become()
            lasting = True
        result = self._result(found)
        return self._text(given, result, lasting), self.constants

    def _made(self, place: int) -> bool:
        return place in self.made

    def _modes(self, nodes: bool) -> None:
        # A variable of a thread takes longer to find than all else here.
        self.conditions.append("local['enabled']" if LOCAL.enabled else "not local['enabled']")
        self.conditions.append(
            "local['inference']" if LOCAL.inference else "(not INFERRING or not local['inference'])"
        )
        if nodes:
            self.conditions.append("TRACES.record is None")

    # --- comparing -------------------------------------------------------------------------------------

    def _compare(self, value: Any, name: str) -> None:
        """Conditions under which `name` is like `value`."""
        cls = value.__class__
        if cls in PLAIN:
            self._tensor(value, name)
        elif cls in IDENTICAL:
            text = repr(value) if value is None or cls is bool else self.constant(value)
            self.conditions.append(f"{name} is {text}")
        elif cls is float:
            self._float(value, name)
        elif cls in PLAINLY:
            c, of = self.constant(value), self.constant(cls)
            self.conditions.append(f"({name} is {c} or ({name}.__class__ is {of} and {name} == {c}))")
        elif cls in SEQUENCES:
            of = self.constant(cls)
            self.conditions.append(f"{name}.__class__ is {of} and len({name}) == {len(value)}")
            for i, item in enumerate(value):
                self._part(item, f"{name}[{i}]")
        elif cls is slice:
            self.conditions.append(f"{name}.__class__ is slice")
            for part in ("start", "stop", "step"):
                self._part(getattr(value, part), f"{name}.{part}")
        elif isinstance(value, GraphNode):
            self._graph_node(value, name)
        elif (what := told(value)) is not None:
            self.conditions.append(f"{self.constant(told)}({name}) == {self.constant(what)}")
        else:
            raise Unknown

    def _part(self, value: Any, code: str) -> None:
        self._compare(value, self._let(code))

    def _let(self, code: str) -> str:
        """The name of what `code` gives."""
        name = self._fresh("v")
        self.conditions.append(f"(({name} := {code}) is {name})")
        return name

    def _like(self, code: str, value: Any) -> None:
        """It is, or equals, what says all about such calls, and holds no tensors."""
        c = self.constant(value)
        self.conditions.append(f"({code} is {c} or {code} == {c})")

    def _graph_node(self, node: Any, name: str) -> None:
        """A node whose rule is run: its edges, and what it saved."""
        edges = self._let(f"{name}.next")
        self.conditions.append(f"len({edges}) == {len(node.next)}")
        for i, e in enumerate(node.next):
            self.conditions.append(f"{edges}[{i}] is {'None' if e is None else 'not None'}")
        self._saved_by(node, node.saved, name)

    def _saved_by(self, node: Any, of: Any, name: str) -> None:
        """What a node saved, `of`, is like that."""
        saved = self._let(f"{name}.saved")
        self.conditions.append(f"{saved}.__class__ is {self.constant(of.__class__)}")
        if of.__class__ is Saved:
            self._saved(of, saved)
        elif hasattr(node.__class__, "formula") and len(of) == 3:
            self._like(f"{saved}[0]", of[0])
            self._like(f"{saved}[2]", of[2])
            kept = self._let(f"{saved}[1]")
            for i, (value, version) in enumerate(of[1]):
                if version < 0:
                    self.conditions.append(f"{kept}[{i}][1] == -1")
                    self._part(value, f"{kept}[{i}][0]")
                else:
                    self._kept(value, f"{kept}[{i}][0]", f"{kept}[{i}][1]")
        else:
            raise Unknown

    def _kept(self, t: Any, code: str, version: str) -> None:
        """A tensor that a node keeps, which nobody has written to since."""
        name = self._let(code)
        self._tensor(t, name)
        self.conditions.append(f"{version} == (0 if {name}._storage is None else {name}._storage.version)")

    def _saved(self, of: Saved, name: str) -> None:
        self._like(f"{name}._shapes", of._shapes)
        self._like(f"{name}._kinds", of._kinds)
        values = self._let(f"{name}._values")
        self.conditions.append(f"len({values}) == {len(of._values)}")
        for key, value in of._values.items():
            self._item(value, f"{values}[{key!r}]")
        results = self._let(f"{name}._results")
        if of._results is None:
            self.conditions.append(f"{results} is None")
            return
        self.conditions.append(f"{results} is not None and {results}[0] is {of._results[0]}")
        self.conditions.append(f"len({results}[1]) == {len(of._results[1])}")
        for i, item in enumerate(of._results[1]):
            self._item(item, f"{results}[1][{i}]")

    def _item(self, value: Any, code: str) -> None:
        """What is kept of an argument or a result."""
        if value.__class__ is Versioned:
            name = self._let(code)
            self.conditions.append(f"{name}.__class__ is {self.constant(Versioned)}")
            self._kept(value.tensor, f"{name}.tensor", f"{name}.version")
        elif value.__class__ is VersionedList:
            name = self._let(code)
            self.conditions.append(f"{name}.__class__ is {self.constant(VersionedList)}")
            self.conditions.append(f"len({name}.items) == {len(value.items)}")
            for i, item in enumerate(value.items):
                self._item(item, f"{name}.items[{i}]")
        else:
            self._part(value, code)

    def _float(self, value: float, name: str) -> None:
        c = self.constant(value)
        same = f"{name} == {c}" if value else f"{name}.hex() == {self.constant(value.hex())}"
        self.conditions.append(f"({name} is {c} or ({name}.__class__ is float and {same}))")

    def _tensor(self, t: Any, name: str) -> None:
        place, conditions = self.region.place_of(t), self.conditions
        if self.become is not None and t is self.become[0]:
            self._target(t, name)
            return
        entering = place in self.entered
        self.given.setdefault(id(t), name)
        cls, tracked = self.constant(t.__class__), t._grad_node is not None
        if not entering or place in self.names:
            conditions.append(f"{name}.__class__ is {cls}")
            conditions.append(f"{name}._grad_node is {'not None' if tracked else 'None'}")
        if place is None:  # nothing is asked of it but what it is
            of, layout = self.constant(t._kind), t._geometry
            shape, strides = self.constant(tuple(layout.shape)), self.constant(tuple(layout.strides))
            conditions.append(f"{name}._kind is {of} and {name}._geometry.shape == {shape}")
            conditions.append(f"{name}._geometry.strides == {strides}")
            return
        known = self.names.get(place)
        if entering and known is not None:
            conditions.append(f"{name} is {known}")
            return
        self.names.setdefault(place, name)
        if entering:
            _, of, sizes, steps, share = self.entered[place]
            if share in self.entered or place in self.region.real or share in self.region.real:
                raise Unknown
            e, a = self.constant(Entrance(place, of, sizes, steps, share)), self._fresh("a")
            conditions.append(looked(e, name, a, cls, tracked))
            if share is None:
                self.entrances.append(e)
            self.checks += entered(e, place, a)
        elif place in self.region.arrays:
            conditions.append(f"region.inputs[{place}][0]() is {name}")
        else:
            hidden = getattr(t, "_hidden", None)
            if hidden is None or hidden.place != place or hidden.owner is not self.region.trace:
                raise Unknown
            conditions.append(f"{name}._hidden is {self.constant(hidden)}")

    def _target(self, t: Any, name: str) -> None:
        """What is written to: a result of this segment which nobody else sees (writes.py)."""
        old, place = self.become[2], self.become[2].place
        self.conditions += [
            f"{name}.__class__ is Tensor and {name}._hidden is {self.constant(old)}",
            f"{name}._grad_node is {'None' if self.become[1]._grad_node is None else 'not None'}",
            f"{name}._grad_node.__class__ is not AccumulateGrad",
            f"not LOCAL.transforms and {place} not in region.shares and free(region, {name})",
        ]
        if id(t) in self.given:
            return
        self.given[id(t)] = name
        stand = self.names[place] = self._fresh("t")
        self.shells.append(stand)
        self.unnoted.append(stand)
        self.lines += [
            f"{stand} = new(Tensor)",
            f"{stand}._kind = {name}._kind",
            f"{stand}._grad_node, {stand}._output_nr = {name}._grad_node, {name}._output_nr",
            f"{stand}._storage, {stand}._hidden = None, {name}._hidden",
        ]

    def _become(self) -> None:
        target, _, _, first, hidden, tracked = self.become
        name = self.given[id(target)]
        if tracked:
            made = self.names[first]
            self.lines.append(f"{name}._grad_node, {name}._output_nr = {made}._grad_node, {made}._output_nr")
        self.lines += [
            f"{name}._hidden = {self.constant(hidden)}",
            f"bump({name}, 1)",
            f"region.private[id({name})] = ref({name})",
        ]
        self.shells.append(name)
        self.unnoted.append(name)

    # --- what is made ----------------------------------------------------------------------------------

    def _needed(self, found: Any) -> set[int]:
        """Places whose tensors somebody will see."""
        needed = set(self._places(found)) if self.become is None else {self.become[3]}
        for n in reversed(self.nodes):
            step: Any = n.step
            made = range(n.first, n.count)
            for _, out, operands in self.extras.get(id(n), ()):
                needed.update(self._places(out), self._seen(operands))
            viewed = set[Any]()
            if step.node is not None:
                needed.update(made)
                viewed.update(n.args[k] for k in mentioned(step.node[1]))
            needed.update(n.args[k] for k, _ in step.bumps)
            needed.update(n.args[k] for k in step.writes)
            for place, r in zip(made, step.results, strict=True):
                if place in needed and r.given >= 0:
                    needed.add(n.args[r.given])
                elif place in needed and r.view is not None:
                    viewed.add(n.args[r.view[0]])
            if any(p in viewed and at <= n.first for at, p in self.aliased):  # which tensor is meant?
                raise Unknown
            needed |= viewed
        return needed

    def _seen(self, tree: Any) -> list[int]:
        """Places of the tensors in what a node is made of."""
        if isinstance(tree, Tensor):
            return self._places(tree)
        return [p for v in tree for p in self._seen(v)] if tree.__class__ in (list, tuple) else []

    def _extra(self, tree: Any) -> str:
        """Code for what a node is made of that is no step's."""
        if isinstance(tree, Tensor) or tree.__class__ in (list, tuple):
            return self._result(tree)
        return self.constant(tree)

    def _places(self, found: Any) -> list[int]:
        if isinstance(found, Tensor):
            place = self.region.place_of(found)
            if place is None or any(found is t for t in self.aliases):
                raise Unknown
            return [place]
        if found.__class__ in (tuple, list) or (isinstance(found, tuple) and hasattr(found, "_fields")):
            return [p for item in found for p in self._places(item)]
        if found is None or found.__class__ in (bool, int):
            return []
        raise Unknown

    def _result(self, found: Any) -> str:
        """Code for the call's result."""
        if isinstance(found, Tensor):
            place: Any = self.region.place_of(found)
            name = self.given.get(id(found)) or self.names.get(place)
            if name is None or not (id(found) in self.given or self._made(place)):
                raise Unknown
            self._checked(found, place)
            return name
        if isinstance(found, (tuple, list)):
            items = "".join(f"{self._extra(f)}, " for f in found)
            if found.__class__ is list:
                return f"[{items}]"
            plain = found.__class__ is tuple
            return f"({items})" if plain else f"tuple.__new__({self.constant(found.__class__)}, ({items}))"
        return self.constant(found)

    def _checked(self, t: Tensor, place: int) -> None:
        """See that a tensor that was made is as the steps make it."""
        if id(t) in self.given:
            return
        for n in self.nodes:
            if n.first <= place < n.count:
                step: Any = n.step  # a node that is matched has one
                r = step.results[place - n.first]
                view = getattr(t, "_view_of", None)
                if r.given < 0 and (view is None) == (r.view is None):
                    tracked = any(t is o for o in self._outs()) or step.node is not None
                    tracked = tracked or not (view is None or n.enabled)
                    if t._grad_node is not None and not tracked:
                        break
                    if view is not None and view[1:] != r.view[1:]:  # one of several, say
                        base, constants = self.given.get(id(view[0])), ", ".join(map(self.constant, view[1:]))
                        if base is None:
                            break
                        self.lines.append(f"{self.names[place]}._view_of = ({base}, {constants})")
                    return
        raise Unknown

    def _outs(self) -> list[Any]:
        """The tensors that nodes which are no step's were made for."""
        found: list[Any] = []
        for extras in self.extras.values():
            for _, out, operands in extras:
                if operands is None:
                    continue
                found += [out] if isinstance(out, Tensor) else out
        return found

    def _step(self, n: Node, needed: set[int]) -> None:
        step: Any = n.step
        lines = self.lines
        if step.writes:
            self.checks += [
                f"if not region.empty({self.constant(step)}, {self.constant(n.origins())}):",
                "    region.settle()",
                "    return NotImplemented",
            ]
        outs = []
        for place, r in enumerate(step.results, n.first):
            if place not in needed:
                continue
            if r.given >= 0:
                self.names[place] = self._operand(n, r.given)
            else:
                self._shell(n, place, r)
            outs.append(self.names[place])
        if step.node is not None:
            self._node(n, outs)
        for k, by in step.bumps:
            lines.append(f"bump({self._operand(n, k)}, {by})")

    def _node(self, n: Node, outs: list[str]) -> None:
        step: Any = n.step
        function, template = step.node
        again, cls = function, None
        if function.__class__ is Renamed:
            again, cls = function.function, function.cls
        if again.__class__ is NodeFactory:
            self._formula(n, outs[0], again, cls or again.cls, template)
        elif again.__class__ is DeclaredFactory and not again.rules.lists:
            self._declared(n, outs, again, cls or again.cls, template)
        else:
            out = outs[0] if step.many is None else self._several(step.many, outs)
            self.lines.append(f"{self.constant(function)}({out}, {self._template(n, (list, template))})")

    def _edges(self, operands: Sequence[str | None], wanted: Sequence[bool]) -> str:
        edges = [
            f"({name}._grad_node, {name}._output_nr)" if w else "None"
            for name, w in zip(operands, wanted, strict=True)
        ]
        return f"({''.join(f'{e}, ' for e in edges)})"

    def _version(self, name: str) -> str:
        s = f"{name}._storage"
        return f"0 if {s} is None else version_of({name}) if {s}.inference else {s}.version"

    def _second(self, n: Node, number: int, out: str) -> str:
        """Of a result that its own node keeps, with its version: a second tensor."""
        r: Any = getattr(n.step, "results")[number]
        if r.given >= 0 or r.view is not None:
            return f"keep_result({out})"
        constants = self.constant(r.kind), self.constant(r.pending)
        return f"second(region, alive, {n.first + number}, {', '.join(constants)}, {out})"

    def _declared(self, n: Node, outs: list[str], again: DeclaredFactory, cls: Any, template: Any) -> None:
        """The node of a declared gradient, written out."""
        step: Any = n.step
        rules = again.rules
        values, operands = "", []
        for p, item in zip(rules.row.params, template, strict=True):
            is_operand, value = item
            if not p.is_tensor:
                values += f"{p.name!r}: {self._item_code(n, item)}, "
                continue
            name = self._operand(n, value) if is_operand else None
            operands.append(name)
            if p.name in rules.keeps and name is not None:
                values += f"{p.name!r}: now({name}), "
            elif p.type != "Tensor":
                values += f"{p.name!r}: {'None' if name else self._item_code(n, item)}, "
        results = "None"
        if rules.keeps_result:
            kept = [
                "None" if step.many is not None and i in rules.unread else f"keep(*{self._second(n, i, out)})"
                for i, out in enumerate(outs)
            ]
            results = f"({step.many is not None}, [{', '.join(kept)}])"
        constants = self.constant(again.shapes), self.constant(again.kinds)
        saved = f"save({{{values}}}, {', '.join(constants)}, {results})"
        edges = self._edges(operands, again.wanted)
        tracked = [i for i, r in enumerate(step.results) if r.kind is not None and r.kind.dtype.category >= 2]
        if not tracked or len(operands) != len(again.wanted):
            raise Unknown
        record = f"record({outs[tracked[0]]}, {self.constant(cls)}, {edges}, {saved})"
        self.lines.append(f"region.made[{n.first}] = node = {record}")
        if step.many is not None:
            self.lines.append(f"node.count = {len(outs)}")
        for i in tracked:
            if i:
                self.lines.append(f"{outs[i]}._grad_node, {outs[i]}._output_nr = node, {i}")

    def _item_code(self, n: Node, item: Any) -> str:
        """Code of one item of a node's template."""
        is_operand, value = item
        if is_operand:
            return self._operand(n, value)
        return self.constant(value) if is_operand is False else self._template(n, value)

    def _formula(self, n: Node, out: str, again: NodeFactory, cls: Any, template: Any) -> None:
        """The node of a formula, written out: all but who its operands are is known."""
        operands = [self._operand(n, v) if is_operand else None for is_operand, v in template]
        kept = []
        for k in again.kept:
            if k < 0:
                kept.append(self._second(n, 0, out))
            elif operands[k] is None:
                kept.append(self.constant((template[k][1], -1)))
            else:
                kept.append(f"({operands[k]}, {self._version(str(operands[k]))})")
        saved = f"({self.constant(again.names)}, [{', '.join(kept)}], {self.constant(again.places)})"
        edges = self._edges(operands, again.wanted)
        self.lines.append(f"region.made[{n.first}] = record({out}, {self.constant(cls)}, {edges}, {saved})")

    def _several(self, many: Any, outs: list[str]) -> str:
        items = "".join(f"{o}, " for o in outs)
        if many is list:
            return f"[{items}]"
        return f"({items})" if many is tuple else f"tuple.__new__({self.constant(many)}, ({items}))"

    def _operand(self, n: Node, k: int) -> str:
        name = self.names.get(n.args[k])
        if name is None:
            raise Unknown
        return name

    def _template(self, n: Node, tree: Any) -> str:
        cls, items = tree
        parts = ""
        for is_operand, value in items:
            parts += f"{self._item_code(n, (is_operand, value))}, "
        return f"[{parts}]" if cls is list else f"({parts})"

    def _shell(self, n: Node, place: int, r: Any) -> None:
        t = self.names[place] = self._fresh("t")
        self.shells.append(t)
        self.lines.append(f"{t} = shell(alive, {self.constant(r.kind)}, {self.constant(r.pending)})")
        if r.view is None:
            self.lines += ["if INFERRING:", f"    {t}._storage = fresh()"]
            return
        base_number, again, rest, step = r.view
        base = self._operand(n, base_number)
        constants = self.constant(again), self.constant(rest), self.constant(step)
        self.lines += [
            f"s = {base}._storage",
            "if s is None or s is INFERENCE:",
            f"    s = storage({base})",
            f"{t}._storage = s",
            f"{t}._view_of = ({base}, {', '.join(constants)})",
            f"g = {base}._grad_node",
            *([] if n.enabled else ["if g is not None:", f"    unrecorded({t})"]),
            "if g.__class__ is not AccumulateGrad:",
            "    if s.views is None or len(s.views) >= s.prune_at:",
            f"        remember({t}, s)",
            "    else:",
            f"        s.views.append(ref({t}))",
            "if region.private:",
            f"    region.private.pop(id({base}), None)",
        ]

    # --- all of it -------------------------------------------------------------------------------------

    def _text(self, given: Sequence[str], result: str, lasting: bool) -> str:
        end = self.nodes[-1]
        if len(self.entrances) > 1:
            together = Together(tuple([self.constants[int(e[1:])] for e in self.entrances]))
            self.conditions.append(apart(self.constant(together), self.entrances))
        at, known = self.constant(end), self.constant(end.known)
        made = "".join(f"{t}, " for t in self.shells)
        lines = [
            *self.checks,
            *self.lines,
            f"region.node = {at}",
            f"region.known = {known}",
            *[f"alive.append(ref({t}))" for t in self.unnoted],
        ]
        late = (
            []
            if lasting
            else [
                f"if region.alive is not alive and not region.late(({made})):",
                "    return NotImplemented",
            ]
        )
        body = [
            "try:",
            f"    if not ({' and '.join(self.conditions)}):",
            "        return NotImplemented",
            "except AttributeError:",
            "    return NotImplemented",
        ]
        if lasting:
            body += [
                "with region.lock:",
                "    if region.alive is not alive:",
                "        return NotImplemented",
            ]
            body += [f"    {line}" for line in lines]
        else:
            body += lines
        text = "\n        ".join(
            [
                f"{''.join(f'{v}, ' for v in given)} = values" if given else "pass",
                "alive, local = region.alive, region.local",
                *body,
                *late,
                f"return {result}",
            ]
        )
        names = ", ".join(f"c{i}" for i in range(len(self.constants)))
        return f"def make({names}):\n    def match(region, values):\n        {text}\n    return match\n"
