"""Machine code that makes tensors with pending values, and their autograd nodes, and that gives them values.

It fills the objects' slots directly: calling the classes would take longer than most of the ops that are put
off.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.autograd.node import Node, next_seq
from rushlight._engine.dispatch.nodes.formula_nodes import keep_result
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned, kept, saved
from rushlight._engine.tensors import slots
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.tensor import ARRAY, Tensor, expect_unfilled, wrap
from rushlight._engine.trace.recorder import Array, root
from rushlight._engine.trace.segment import RUNNING, Path, Program, seen
from rushlight._engine.trace.trace import Node as TraceNode

_SHELL, _NODE = (
    ("_kind", "_grad_node", "_output_nr", "_storage", "_hidden"),
    ("next", "seq", "hooks", "saved"),
)
_SAVED, _KEPT = ("_values", "_shapes", "_kinds", "_results", "_node"), ("tensor", "version")
_new = object.__new__
# How many sets of wanted results a segment has programs for.
MOST_SETS_WANTED = 64


class Makers(NamedTuple):
    """shell(alive, kind, hidden): an untracked tensor of a kind, noted in the list `alive`.

    record(tensor, class, next, saved): a node of that class, which is the tensor's. keep(tensor, version): a
    Versioned. save(values, shapes, kinds, results): a Saved. peek(tensor): its array, None if it has none.
    second(region, alive, place, kind, hidden, tensor): (a result to be kept by its own node, its version).
    living(alive, found, places): puts the tensors that still live and have no arrays into the list `found`,
    and their places into `places`.
    fill(tensors, arrays): gives them arrays; those that have one keep it.
    """

    shell: Callable[..., Any]
    record: Callable[..., Any]
    keep: Callable[..., Any]
    save: Callable[..., Any]
    peek: Callable[[Any], Any]
    second: Callable[..., Any]
    living: Callable[[list[Any], list[Any], list[int]], Any]
    fill: Callable[[list[Any], list[Any]], Any]


def _shell(alive: list[Any], kind: Any, hidden: Any) -> Tensor:
    t: Tensor = _new(Tensor)
    t._kind = kind
    t._grad_node = None
    t._output_nr = 0
    t._storage = None
    t._hidden = hidden
    alive.append(weakref.ref(t))
    return t


def _record(t: Tensor, cls: type[Node], following: tuple[Any, ...], saved: Any) -> Node:
    node: Node = _new(cls)
    node.next = following
    node.seq = next_seq()
    node.hooks = None
    node.saved = saved
    t._grad_node = node
    return node


def _keep(t: Tensor, version: int) -> Versioned:
    k: Versioned = _new(Versioned)
    k.tensor, k.version = t, version
    return k


_slot, _forget = ARRAY.__get__, Tensor.__dict__["_hidden"].__delete__


def _peek(t: Tensor) -> Any:
    try:
        return _slot(t)
    except AttributeError:
        return None


def _living(alive: list[Any], found: list[Any], places: list[int]) -> None:
    for ref in alive:
        t = ref()
        if t is not None and _peek(t) is None and t._hidden.__class__ is Pending:
            found.append(t)
    places += [t._hidden.place for t in found]


def _fill(tensors: list[Any], arrays: list[Any]) -> None:
    for t, a in zip(tensors, arrays):
        if _peek(t) is None:
            ARRAY.__set__(t, a)
            _forget(t)


def _nothing(t: Any) -> None:
    """What is there instead of an array."""


def _second(shell: Callable[..., Any], storage: Callable[[], Storage]) -> Callable[..., Any]:
    def second(
        region: Any, alive: list[Any], place: int, kind: Any, hidden: Any, t: Tensor
    ) -> tuple[Tensor, int]:
        if t._storage is not None:  # in inference mode
            return keep_result(t)
        other: Tensor = shell(alive, kind, hidden)
        t._storage = other._storage = storage()
        region.shares.add(place)
        return other, 0

    return second


def _blank() -> Callable[[], Storage]:
    """Makes storages as their class does."""
    like = Storage()
    names = tuple(n for n in Storage.__slots__ if hasattr(like, n) and n != "__weakref__")
    if not slots.usable([(like, Storage, names)]):
        return Storage
    return _maker(Storage, (), names, *[getattr(like, n) for n in names])


def makers() -> Makers:
    """These, by machine code where there is any."""
    return _made()


@cache
def _made() -> Makers:
    tensor, node = wrap(np.zeros(1)), Node()
    shell = wrap(np.zeros(1))
    shell._hidden = tensor
    things: list[Any] = [
        (shell, Tensor, _SHELL),
        (tensor, Tensor, ("_array",)),
        (node, Node, _NODE),
        (kept(tensor), Versioned, _KEPT),
        (saved({}, (), (), None), Saved, _SAVED),
        (Pending(np.zeros(1), None), Pending, ("place",)),
    ]
    if not slots.usable(things):
        return Makers(_shell, _record, _keep, saved, _peek, _second(_shell, Storage), _living, _fill)
    made = slots.made("shell", (Tensor, None, 0), slots.offsets(Tensor, *_SHELL))
    at = slots.offset(Tensor, "_grad_node")
    return Makers(
        made,
        slots.made("recorder", (next_seq, None), slots.offsets(Node, *_NODE), at),
        _maker(Versioned, _KEPT, ()),
        _maker(Saved, _SAVED[:4], _SAVED[4:], None),
        slots.made("reader", (Tensor, _nothing), slots.offset(Tensor, "_array")),
        _second(made, _blank()),
        slots.made(
            "living",
            (None, Pending),
            slots.offset(Tensor, "_array"),
            slots.offset(Tensor, "_hidden"),
            slots.offset(Pending, "place"),
        ),
        slots.made("filler", (), slots.offset(Tensor, "_array"), slots.offset(Tensor, "_hidden")),
    )


def _maker(cls: type, given: tuple[str, ...], fixed: tuple[str, ...], *values: Any) -> Callable[..., Any]:
    """Makes instances of a class: some slots are given, others always the same."""
    offsets = [tuple(slots.offset(cls, name) for name in names) for names in (given, fixed)]
    return slots.made("maker", (cls, *values), *offsets)


class Shells:
    """What a region (matching.py) does with them when their values are asked for."""

    # Of the region: weak references to them; what came in, by place; where it stands, what it knows there.
    alive: list[Any]
    arrays: dict[int, Array]
    real: dict[int, Array]
    emptied: list[tuple[Tensor, Array]]
    known: dict[Any, Any]
    node: TraceNode
    before: TraceNode  # where the segment before this one ended

    def compute(self: Any, node: TraceNode, ends: bool = True) -> tuple[list[Tensor], list[int]]:
        """Give shells that still live their values; who they are, and their places. ends: the segment does.

        The thread that matches may be on its way to another node now, if this is another thread: it will see
        that `alive` is another list (late() in matching.py).
        """
        if self.recording:
            if self.program is not None and node.parent is not None:
                self._hand_over(node)
            return [], []
        self.known = {}
        alive, self.alive = self.alive, []
        self.met()
        found: list[Tensor] = []
        places: list[int] = []
        _made().living(alive, found, places)
        known = node.fills.get(tuple(places))
        if known is None:
            found, places = _distinct(found, node.count)
        try:
            if known is not None or found or node.effects:
                self._fill(node, found, places, known, ends)
        except BaseException:  # it is not to run again: what would have come of it is lost
            self._lose(node, found)
            raise
        if self.emptied:
            self._restore()
        return found, places

    def _lose(self: Any, node: TraceNode, shells: list[Tensor]) -> None:
        """Begin another segment after a run that failed."""
        expect_unfilled()
        for t in shells:
            if _peek(t) is None:
                t._hidden = Pending(t._hidden.layout, self.trace)
        self._restore()
        self.undo()
        self.before, self.node = node, node.after()
        self._begin()

    def _restore(self) -> None:
        for t, a in self.emptied:
            if _peek(t) is None:
                t._array = a
                del t._hidden
        self.emptied = []

    def _hand_over(self: Any, node: TraceNode) -> None:
        """Hand a segment that was recorded to whoever makes programs, and take that program's results."""
        found = [(ref(), p) for p, ref in self.places.values() if p not in self.arrays]
        live = [(t, p) for t, p in found if t is not None]
        order = tuple(sorted({p for _, p in live}))
        program = node.programs.get(order)
        if program is None:
            program = node.programs[order] = self.program(node, Path(node), order)
        if node.effects:  # it was run as ever, and is not to run again
            with self._aside(), RUNNING:
                program.prepare(self.arrays)
            return
        with self._aside(), RUNNING:
            results = program.run(self.arrays, self)
        made = dict(zip(order, results or (), strict=results is not None))
        for t, p in live:
            if p in made and id(root(t._array)) not in self.written:
                t._array[...] = made[p]

    def _program(self: Any, node: TraceNode, order: tuple[int, ...], ends: bool) -> Any:
        """What computes the results that are wanted at a node."""
        program = node.programs.get(order)
        if program is None and not ends and self.program is not None:  # no segment to be handed over
            return Program(Path(node), order)
        if program is None:
            if len(node.programs) >= MOST_SETS_WANTED:  # who holds what seems to be chance
                node.programs.clear()
                node.fills.clear()
            made = Program if self.program is None else partial(self.program, node)
            program = node.programs[order] = made(Path(node), order)
            if node.like is not None and self.program is None and order in node.like.programs:
                program.found = node.like.programs[order].found
        return program

    def _fill(
        self: Any, node: TraceNode, shells: list[Tensor], places: list[int], known: Any, ends: bool
    ) -> None:
        """known: the program, and which of its results each gets, where that is known of these places."""
        if known is None:
            order = tuple(sorted(set(places)))
            numbers = [*map(order.index, places)]
            known = self._program(node, order, ends), None if numbers == [*range(len(order))] else numbers
            if ends or self.program is None:
                node.fills[tuple(places)] = known
        program, numbers = known
        results = self._results(program)
        if self.real:
            specs = [program.path.specs[place] for place in sorted(set(places))]
            results = [
                seen(spec, self.real[spec.memory]) if spec.memory in self.real else a
                for spec, a in zip(specs, results, strict=True)
            ]
        _made().fill(shells, results if numbers is None else [results[k] for k in numbers])

    def _results(self: Any, program: Any) -> list[Array]:
        with RUNNING:
            found: list[Array] | None = program.at_once(self.arrays, self._aside)
            if found is not None:
                return found
        with self._aside(), RUNNING:
            found = program.run(self.arrays, self)
        return [] if found is None else found


def _distinct(tensors: list[Tensor], count: int) -> tuple[list[Tensor], list[int]]:
    """Of tensors that were noted, maybe more than once, those at places below `count`, and these."""
    found = [t for t in {id(t): t for t in tensors}.values() if t._hidden.place < count]
    return found, [t._hidden.place for t in found]
