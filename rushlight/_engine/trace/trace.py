"""Traces: what ops did, told without memory, as a tree of nodes that later calls are matched with.

A tensor is known by its *place*: the how-manyth it was, among the operands that came from outside and the
results, since the segment began. Memory is known by the place that it came in with, or by a number of its own
where an op made it; a `Spec` is an array in such memory.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import view_of
from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.size import Size
from rushlight._engine.core.switches import switches
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.ops.creation.copying import duplicate
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.storages.storage import storage
from rushlight._engine.tensors.tensor import ARRAY, Tensor
from rushlight._engine.trace.recorder import Array, Entry, arrays, flat, place_of, root, shaped_by_values

# How attributes of ops are compared. What is equal only if it is the same object:
IDENTICAL = frozenset((bool, type(None), dtype, Kind, MemoryFormat, StorageLayout, type(...)))
# What is equal only if it means the same; floats and complex numbers have zeros of two signs.
PLAINLY = IDENTICAL | frozenset((int, str, device))
SEQUENCES = frozenset((tuple, list, Size))
_MOST_BYTES = 1 << 16  # of an array whose values tell an op apart
_slot: Callable[[Tensor], Array] = ARRAY.__get__
# In a step, memory is ~k for the operand k, and 0, 1, ... for what the step makes.
_UNKNOWN = object()


class Spec(NamedTuple):
    """An array: `offset` bytes from where its memory begins."""

    memory: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


class Place(NamedTuple):
    """Stands for the tensor at a place in a call that is told."""

    number: int


class TraceEntry(NamedTuple):
    """An entry (recorder.py) whose arrays are Specs; what is no Spec in `operands` is as it was."""

    kind: str
    function: Any
    operands: Any
    outs: tuple[Spec, ...]
    where: str


class Result(NamedTuple):
    """A result of a step: operand `given` itself, or a tensor at `spec`.

    pending: what its shell holds. view: (operand, again, rest, step) of a view, as dispatch/runners/views.py
    has them. whole: whether nothing else lies in its memory.
    """

    given: int
    spec: Any
    kind: Any
    pending: Any
    view: Any
    whole: bool


class Step(NamedTuple):
    """What an op did. many: the class of its results where there are several.

    node: (function, operands' template) that makes its node in the graph. bumps: [(operand, by how much its
    version grew)]. writes: operands that it writes to. effects: whether it does so, or draws random numbers.
    """

    entries: list[TraceEntry]
    sizes: list[int]
    results: list[Result]
    many: Any
    node: Any
    bumps: list[tuple[int, int]]
    writes: list[int]
    effects: bool

    def same(self, other: Step) -> bool:
        """Whether a second call did the same."""
        return _facts(self) == _facts(other)


class Node:
    """A place in the tree: the step that led here, and what has followed."""

    __slots__ = (
        "parent",
        "step",
        "args",
        "first",
        "entered",
        "next",
        "flushed",
        "latest",
        "seen",
        "programs",
        "fills",
        "fixed",
        "warned",
        "known",
        "tries",
        "effects",
        "enabled",
        "said",
        "like",
        "_shared",
    )

    def __init__(self, parent: Node | None = None) -> None:
        self.parent = parent
        self.step: Step | None = None
        # What takes calls from here on without asking more (matchers.py), by who calls.
        self.known: dict[Any, Any] = {}
        self.tries: dict[Any, int] = {}
        # Whether a step up to here has effects; whether nodes were made; places whose memory is others', too.
        self.effects = self.enabled = False
        # In a trace that is handed over: (row, call, args, kwargs, grad mode, place, how it is written).
        self.said: Any = None
        # The node of another path on which all is alike but for sizes.
        self.like: Node | None = None
        self._shared: frozenset[int] | None = None
        # Places of the operands, of the first result, and what came in: (place, kind, shape, strides, whose
        # memory it shares).
        self.args: list[int] = []
        self.first = 0
        self.entered: list[Any] = []
        self.next: dict[Any, Node] = {}
        # Where the next segment begins, by the switches that ops ask (core/switches.py).
        self.flushed: dict[Any, Node] = {}
        self.latest: Any = None, None
        self.seen = 0
        self.programs: dict[Any, Any] = {}
        # Of shells that lived at a segment's end, by places: the program, and which of its results each got.
        self.fills: dict[tuple[int, ...], Any] = {}
        # Whether the step is to run as it is, each time.
        self.fixed = False
        # How often it gave warnings.
        self.warned = 0

    @property
    def count(self) -> int:
        """How many places there are up to here."""
        return 0 if self.step is None else self.first + len(self.step.results)

    def after(self) -> Node:
        """Where a segment begins that follows this one, which ends here."""
        key = switches()
        known, node = self.latest
        if key == known:  # to look for it takes longer
            return node  # type: ignore[no-any-return]
        node = self.flushed.get(key)
        if node is None:
            node = self.flushed[key] = Node()
            node.like = None if self.like is None else self.like.flushed.get(key)
        self.latest = key, node
        return node

    def resemble(self, other: Node | None) -> None:
        """What did the same at two sizes does so at each."""
        self.like = other
        if other is not None:
            self.seen += 1
            other.seen += 1

    def known_at(self, call: Any, step: Step) -> Node | None:
        """A node that a call at other sizes led to from here, by the same callable, and that did the same."""
        for before in (self, self.like):
            for key, node in (
                () if before is None else reversed(before.next.items())
            ):  # the latest is the longest
                if node.step is None or node.step is step or node.fixed or key[0] is not call:
                    continue
                if _resembles(step, node.step):
                    return node
        return None

    def learn(self, step: Step, args: list[int], first: int, entered: list[Any]) -> None:
        """The step that leads here."""
        self.step, self.args, self.first, self.entered = step, args, first, entered
        self.enabled = LOCAL.enabled
        self.effects = step.effects or (self.parent is not None and self.parent.effects)
        for place, r in enumerate(step.results, first):
            if r.given < 0:
                r.pending.place = place

    def origins(self) -> dict[int, int]:
        """Of the operands that are written to, the places whose memory they are of: of what came in or was
        made.
        """
        step = self.step
        return {} if step is None else {k: self._origin(self.args[k]) for k in step.writes}

    def _origin(self, place: int) -> int:
        node: Node | None = self
        while node is not None:
            number = place - node.first
            if node.step is not None and 0 <= number < len(node.step.results):
                r = node.step.results[number]
                seen = r.given if r.given >= 0 else ~r.spec.memory
                if seen < 0:
                    break
                place = node.args[seen]
            node = node.parent
        return place

    def shared(self) -> frozenset[int]:
        """Places of results that lie in memory which others' places lie in, too."""
        if self._shared is None:
            nodes: list[Node] = []
            node: Node | None = self
            while node is not None and node._shared is None:
                nodes.append(node)
                node = node.parent
            found = set() if node is None else set(node._shared)  # type: ignore[arg-type]
            for n in reversed(nodes):
                if n.step is not None:
                    found.update(n._shares())
            self._shared = frozenset(found)
        return self._shared

    def _shares(self) -> Iterator[int]:
        step: Any = self.step
        for place, r in enumerate(step.results, self.first):
            if r.given < 0 and not r.whole:
                yield place
            if r.given < 0 and r.view is not None:
                yield place
                yield self.args[r.view[0]]

    def path(self) -> list[Node]:
        """The nodes of the segment that ends here."""
        found, node = [], self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


class Trace:
    """What is known about one compiled function: the tree, and who is in it. Shells' owner."""

    def __init__(self) -> None:
        # What calls and backward passes begin after.
        self.root, self.backward = Node(), Node()
        # Ops that are matched in parts: for tracked operands (True), others (False).
        self.inner: dict[Any, set[bool]] = {}
        # By what is called, where in the program it has written to memory that others may see. What comes
        # after that is a segment of its own; that is known before it is recorded, or each write in a loop
        # would only be found out once all segments before it are learnt.
        self.shared: dict[Any, set[str]] = {}
        # Why ops are run as they are: (text, place) -> how often.
        self.reasons: dict[str, int] = {}
        self.region: Any = None
        # The region that calls and backward passes are, one at a time.
        self.own: Any = None
        self.busy = threading.Lock()
        self.nodes = self.compiled = 0
        # Segments' programs.
        self.made = weakref.WeakSet[Any]()
        # Where the call that runs did the first thing that no call before did, if it has.
        self.new_at = ""
        # How many kinds of arguments have been tried (choice.py); how long calls took that recorded or
        # compiled for all but the first kinds, and how long all others took.
        self.kinds, self.learnt, self.worked = 0, 0.0, 0.0
        # How many more decisions there have been for matching than against it.
        self.faster = 0
        # What share of a call's time is saved by matching it, and what it takes to learn a kind of arguments.
        self.gain, self.price = 0.3, 0.0
        # Who runs calls that are matched and not timed (choice.py).
        self.matched: Any = None
        # What makes a segment's program: of a path, its node, and the places that are wanted; for it, what
        # stands for calls of ops of a program's own (region_recorder.py).
        self.program: Any = None
        self.whole: dict[Any, Any] = {}
        # By nodes at which functions of graphs of their own begin: what these store elsewhere, "" if nothing.
        self.stores: dict[Node, str] = {}
        # Where segments ended, if somebody asks: (why, where, whether fullgraph=True refuses it).
        self.ends: list[tuple[str, str, bool]] | None = None

    def values(self, t: Tensor) -> Array:
        """The values of a tensor for which they were put off."""
        region = self.region
        if region is not None:
            region.settle()
        try:
            return _slot(t)
        except AttributeError:
            raise RuntimeError(
                "the values of a tensor were lost, as the program that was to compute them failed"
            ) from None

    def share(self, t: Tensor, other: Tensor) -> bool:
        """Let `other` have the same memory, if that is still to come."""
        region = self.region
        return region is not None and other.__class__ is Tensor and region.also(t, other)


class Renamed:
    """What makes a node that gets another class."""

    def __init__(self, function: Any, cls: type) -> None:
        self.function, self.cls = function, cls

    def __call__(self, out: Any, values: Any) -> None:
        """Leave the node behind."""
        self.function(out, values)
        out._grad_node.__class__ = self.cls


class Unit:
    """Listens while one op runs, and tells what it did."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = list(tensors)
        self.given = [t._memory for t in tensors]
        self.versions = [0 if t._storage is None else t._storage.version for t in tensors]
        self.failed = ""
        # Whether it gave a warning; whether to run it again, in parts, does nothing but take time.
        self.warned, self.repeats = False, True
        self.nodes: list[Any] = []
        # Classes that results' nodes have got; (tensor, second tensor of its memory), as they are made.
        self.renamed: list[tuple[Tensor, type]] = []
        self.aliases: list[tuple[Tensor, Tensor]] = []
        self.entries: list[TraceEntry] = []
        self.writes: set[int] = set()
        self._made: dict[int, tuple[int, int]] = {}
        self.sizes: list[int] = []
        self._constants: set[int] = set()
        # Arrays live on meanwhile, since memory is known by their ids.
        self._kept: list[Any] = []
        self._operands: dict[int, list[int]] = {}
        for k, a in enumerate(self.given):
            self._operands.setdefault(id(root(a)), []).append(k)

    # --- what TAPE's writers say -----------------------------------------------------------------------

    def run(self, function: Any, operands: tuple[Any, ...], result: Any) -> None:
        """`result` was made by function(*operands)."""
        row = getattr(function, "row", None)
        entry = Entry("run", function, operands)
        self.repeats = self.repeats and not (entry.draws or entry.acts)
        by_mask = (function is advanced_indexing.read or (row is not None and row.name == "index")) and any(
            a.dtype.kind == "b" for a in arrays(operands[1:])
        )
        if by_mask or (row is not None and shaped_by_values(row.name, operands)):
            return self.fail("the shape of a result depends on values")
        outs = [t._array for t in flat(result) if isinstance(t, Tensor)]
        read = [v for v in flat(operands) if isinstance(v, np.ndarray)]
        owners = {id(root(a)) for a in read}
        fresh = [
            o
            for o in outs
            if (o.base is None and id(o) not in owners) or not any(np.may_share_memory(o, a) for a in read)
        ]
        if not fresh:
            return self._around(outs[0]) if row is not None and row.name == "_tensor_of" else None
        if len(fresh) != len(outs) or arrays(getattr(function, "args", ())):
            return self.fail("one result of an op is a view and another is not")
        given = self._tree(operands)
        return self._add("run", function, given, tuple([self._new(o) for o in outs]))

    def _around(self, array: Array) -> None:
        """A tensor was made around an array that is told by its values."""
        self._add("run", duplicate, (array.copy("K"), "K"), (self._new(array),))

    def write(self, function: Any, operands: tuple[Any, ...]) -> None:
        """Memory was overwritten by function(*operands)."""
        self.repeats = False
        target = self._spec(operands[0] if isinstance(operands[0], np.ndarray) else operands[-1])
        if target is None or arrays(getattr(function, "args", ())):
            return self.fail("memory is written to that nobody knows")
        if target.memory < 0:
            self.writes.add(~target.memory)
        return self._add("write", function, self._tree(operands), ())

    def check(self, function: Any, arrays: tuple[Any, ...]) -> None:
        """Values were looked at: function(*arrays) raised nothing."""
        self._add("run", function, self._tree(arrays), ())

    def constant(self, array: Array) -> None:
        """Values that Python made."""
        self._kept.append(array)
        self._constants.add(id(root(array)))

    def fail(self, why: str) -> None:
        """The op cannot be told."""
        self.failed = self.failed or why

    # --- the end ---------------------------------------------------------------------------------------

    def step(self, out: Any, owner: Any) -> Step | str:
        """What the op did, or why that cannot be told; `out`: its result, owner: who fills shells."""
        many = None if isinstance(out, Tensor) else out.__class__
        outs = [out] if many is None else list(out) if isinstance(out, (tuple, list)) else [_UNKNOWN]
        results = [self._result(t, owner) for t in outs]
        node = self._node(out)
        if self.failed:
            return self.failed
        bumps = [
            (k, t._storage.version - v)
            for k, t, v in zip(range(len(self.tensors)), self.tensors, self.versions, strict=True)
            if t._storage is not None and t._storage.version != v
        ]
        effects = bool(self.writes) or any(
            (t.kind == "run" and not t.outs) or e.acts or e.draws
            for t in self.entries
            for e in (Entry(t.kind, t.function, t.operands),)
        )
        return Step(self.entries, self.sizes, results, many, node, bumps, sorted(self.writes), effects)

    def changed(self) -> set[int]:
        """The memory of operands that were written to, or have other sizes now."""
        return {
            id(root(t._memory))
            for t, before, version in zip(self.tensors, self.given, self.versions, strict=True)
            if (t._storage is not None and t._storage.version != version)
            or (t._memory.shape, t._memory.strides) != (before.shape, before.strides)
        }

    def _result(self, t: Any, owner: Any) -> Any:
        for k, given in enumerate(self.tensors):
            if t is given:
                now, before = t._memory, self.given[k]
                if (now.shape, now.strides) != (before.shape, before.strides):
                    return self.fail("a tensor takes other sizes in its place")
                return Result(k, None, None, None, None, True)
        if t.__class__ is not Tensor or t._kind.special or t._kind.device.type != "cpu":
            return self.fail("a result is no plain tensor")
        spec = self._spec(t._array)
        if spec is None or not isinstance(spec, Spec):
            return self.fail("a result is memory that nobody knows")
        view = None
        seen = view_of(t)
        if spec.memory < 0:
            base = [k for k, given in enumerate(self.tensors) if seen is not None and seen.base is given]
            if not base or seen is None or (seen.step is None and seen.again is None):
                return self.fail("a result is a view in an unknown way")
            view = (base[0], *seen[1:])
        elif (seen is not None and (LOCAL.enabled or t._grad_node is not None)) or (
            t._storage is not None and t._storage.version
        ):
            return self.fail("a result is a view of what the op made")
        elif t._grad_node is not None and not self.nodes:
            return self.fail("a result is tracked, and nothing made its node")
        a = t._array
        layout = _layout_of(a.shape, a.strides, a.dtype)
        whole = spec.memory >= 0 and a.nbytes == self.sizes[spec.memory]
        return Result(-1, spec, t._kind, Pending(layout, owner), view, whole)

    def _node(self, out: Any) -> Any:
        """What makes the op's node again: a function of its result and operands, and these."""
        if not self.nodes:
            return None
        if len(self.nodes) > 1 or self.nodes[0] is None:
            return self.fail("an op has several nodes")
        function, made, values = self.nodes[0]
        if made is not out or any(t is not out for t, _ in self.renamed):
            return self.fail("an op's node is another's")
        for _, cls in self.renamed:
            function = Renamed(function, cls)
        template = []
        for v in values:
            item = self._operand(v)
            if item is _UNKNOWN:
                return self.fail("a node keeps what is no operand")
            template.append(item)
        return function, template

    def _operand(self, v: Any) -> Any:
        """(True, number of the operand), (False, the value), or (None, a list of such)."""
        if isinstance(v, Tensor):
            return next(((True, k) for k, t in enumerate(self.tensors) if t is v), _UNKNOWN)
        if v.__class__ in (list, tuple) and any(isinstance(i, Tensor) for i in v):
            items = [self._operand(i) for i in v]
            return _UNKNOWN if _UNKNOWN in items else (None, (v.__class__, items))
        return False, v

    # --- arrays ----------------------------------------------------------------------------------------

    def _add(self, kind: str, function: Any, operands: Any, outs: tuple[Spec, ...]) -> None:
        self.entries.append(TraceEntry(kind, function, operands, outs, place_of()))

    def _new(self, out: Array) -> Spec:
        """An array that was made."""
        owner = root(out)
        if id(owner) not in self._made and isinstance(owner, np.ndarray):
            self._kept.append(owner)
            self._made[id(owner)] = len(self.sizes), pointer(owner)
            self.sizes.append(owner.nbytes)
        found = self._spec(out)
        if not isinstance(found, Spec):
            self.fail("a result lies in memory of another kind")
            return Spec(0, 0, (), (), out.dtype)
        return found

    def _spec(self, a: Array) -> Any:
        """A Spec; an array of its own for a constant; None for memory that is not known."""
        owner = a if a.base is None else root(a)
        made = self._made.get(id(owner))
        if made is not None:
            return Spec(made[0], pointer(a) - made[1], a.shape, a.strides, a.dtype)
        operands = self._operands.get(id(owner), ())
        for k in operands:
            of = self.given[k]
            if a is of or (_alike(a, of) and pointer(a) == pointer(of)):
                return Spec(~k, 0, a.shape, a.strides, a.dtype)
        low, high = np.lib.array_utils.byte_bounds(a) if operands else (0, 0)
        for k in operands:
            start, end = np.lib.array_utils.byte_bounds(self.given[k])
            if start <= low and high <= end:
                return Spec(~k, pointer(a) - pointer(self.given[k]), a.shape, a.strides, a.dtype)
        if id(owner) not in self._operands and (a.size <= 1 or id(owner) in self._constants):
            return a.copy("K")
        return None

    def _tree(self, value: Any) -> Any:
        """Operands with Specs for arrays."""
        if isinstance(value, np.ndarray):
            found = self._spec(value)
            if found is None:
                self.fail("memory is read that is no operand's")
            return found
        if value.__class__ in (list, tuple):
            return value.__class__([self._tree(v) for v in value])
        if value.__class__ is dict:
            return {name: self._tree(v) for name, v in value.items()}
        if isinstance(value, Tensor):
            self.fail("an op is handed a tensor")
        return value


def told(value: Any) -> tuple[Any, ...] | None:
    """What tells such an attribute apart from others, NumPy's by their values; None where nothing does."""
    cls = value.__class__
    if cls in PLAINLY:
        return cls, value
    if cls is float:
        return cls, value.hex()
    if cls is complex:
        return cls, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return cls, value.dtype, value.tobytes()
    if cls is np.ndarray and not value.dtype.hasobject and value.nbytes <= _MOST_BYTES:
        return cls, value.dtype, value.shape, value.tobytes()
    return None


def _alike(a: Array, b: Array) -> bool:
    """Whether two arrays are as large, and lie alike."""
    return a.shape == b.shape and a.strides == b.strides and a.itemsize == b.itemsize


@lru_cache(maxsize=4096)
def _layout_of(shape: tuple[int, ...], strides: tuple[int, ...], of: Any) -> Array:
    """An array without data that is like that; strides in bytes."""
    layout = meta_array(shape, of, tuple([s // of.itemsize for s in strides]))
    if layout.strides != strides:
        layout = np.lib.stride_tricks.as_strided(layout, shape, strides, writeable=False)
    return layout


def described(tree: Any, places: dict[int, int]) -> Any:
    """Arguments with Places for tensors; places: by the tensors' ids."""
    if isinstance(tree, Tensor):
        return Place(places[id(tree)])
    if tree.__class__ in (list, tuple):
        return tree.__class__([described(v, places) for v in tree])
    if tree.__class__ is dict:
        return {name: described(v, places) for name, v in tree.items()}
    return tree


def inserted(item: Any, tensors: Sequence[Tensor]) -> Any:
    """What an item of a node's template stands for, of an op on these operands."""
    cls, items = item[1]
    return cls([tensors[i[1]] if i[0] else i[1] if i[0] is False else inserted(i, tensors) for i in items])


def mentioned(template: Any) -> list[int]:
    """Numbers of the operands that a node's template mentions."""
    found: list[int] = []
    for is_operand, value in template:
        if is_operand:
            found.append(value)
        elif is_operand is None:
            found += mentioned(value[1])
    return found


def placed(tree: Any, change: Callable[[Spec], Any]) -> Any:
    """Operands with each Spec changed."""
    if tree.__class__ is Spec:
        return change(tree)
    if tree.__class__ in (list, tuple):
        return tree.__class__([placed(v, change) for v in tree])
    if tree.__class__ is dict:
        return {name: placed(v, change) for name, v in tree.items()}
    return tree


def specs(tree: Any) -> Iterator[Spec]:
    """All of them in operands."""
    if tree.__class__ is Spec:
        yield tree
    elif tree.__class__ in (list, tuple, dict):
        for v in tree.values() if tree.__class__ is dict else tree:
            yield from specs(v)


def _facts(step: Step) -> tuple[Any, ...]:
    """What two calls that did the same have in common."""
    return (
        [(t.kind, Entry(t.kind, t.function, ()).name, _frozen(t.operands), t.outs) for t in step.entries],
        step.sizes,
        [(r.given, r.spec, r.kind, r.view and r.view[0]) for r in step.results],
        step.many,
        step.node and [_frozen(v) for v in step.node[1]],
        step.bumps,
        step.writes,
    )


def _resembles(step: Step, other: Step) -> bool:
    """Whether two calls, at different sizes, did the same."""
    return (
        len(step.entries) == len(other.entries)
        and len(step.sizes) == len(other.sizes)
        and len(step.results) == len(other.results)
        and (step.many, step.bumps, step.writes) == (other.many, other.bumps, other.writes)
        and (step.node and len(step.node[1])) == (other.node and len(other.node[1]))
        and all(map(_same_result, step.results, other.results))
        and all(map(_same_entry, step.entries, other.entries))
    )


def _same_result(r: Result, other: Result) -> bool:
    return (
        (r.given, r.kind, r.whole) == (other.given, other.kind, other.whole)
        and (r.spec and r.spec.memory) == (other.spec and other.spec.memory)
        and (r.view and r.view[0]) == (other.view and other.view[0])
    )


def _same_entry(t: TraceEntry, other: TraceEntry) -> bool:
    return (
        t.kind == other.kind
        and [o.memory for o in t.outs] == [o.memory for o in other.outs]
        and [s.memory for s in specs(t.operands)] == [s.memory for s in specs(other.operands)]
        and (
            t.function is other.function
            or Entry(t.kind, t.function, ()).name == Entry(t.kind, other.function, ()).name
        )
    )


def _frozen(tree: Any) -> Any:
    if tree.__class__ is Spec:
        return tree
    if isinstance(tree, np.ndarray):
        return tree.tobytes(), tree.shape, str(tree.dtype)
    if isinstance(tree, (list, tuple)):
        return tuple([_frozen(v) for v in tree])
    if isinstance(tree, dict):
        return tuple([(name, _frozen(v)) for name, v in tree.items()])
    simple = isinstance(tree, (bool, int, float, str, type(None), Row))
    return repr(tree) if simple else type(tree)


def bump(t: Tensor, by: int) -> None:
    """Memory was written to, as autograd is to know."""
    storage(t).version += by
