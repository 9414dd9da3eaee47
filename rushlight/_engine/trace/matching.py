"""compile() by matching: Python runs at every call, and its ops are matched with what is known, not executed.

Inside a region (a compiled call, or the backward pass through a graph that one left) an op is compared with
the next one of the trace. If it is that, its result is a tensor whose values are *pending*: its slot is
empty, and whoever reads it makes the region compute what was put off, as one program (segment.py). What
cannot be told is run as ever, after what was put off. The first two calls along a path are run as ever, and
recorded (trace.py); the second must do what the first did.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import remember, unrecorded
from rushlight._engine.autograd.node import TRACES, AccumulateGrad
from rushlight._engine.core.device import device
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.recording import TAPE
from rushlight._engine.core.settings import settings
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch.interpreters import MODES, PLAIN, STACK
from rushlight._engine.dispatch.overrides import past_interpreters
from rushlight._engine.kernels.runtime.team import pointer
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.storages.storage import INFERENCE, INFERRING, fresh, storage
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Array, root
from rushlight._engine.trace.region_recorder import RegionRecorder
from rushlight._engine.trace.segment import RUNNING, Path, Program, seen
from rushlight._engine.trace.trace import Node, Step, Unit, bump, tracked

# How many ops are known to follow one; how many sets of wanted results a segment has programs for.
MOST_BRANCHES, MOST_PROGRAMS = 64, 64
# Attributes that are equal only if they mean the same.
_PLAINLY = frozenset(
    (int, str, bool, type(None), complex, dtype, device, MemoryFormat, StorageLayout, type(...))
)
_slot = Tensor.__dict__["_a"].__get__
_new = object.__new__


class _Untraceable(Exception):
    """An argument that nothing is known of."""


class Trace:
    """What is known about one compiled function: the tree, and who is in it. Shells' owner."""

    def __init__(self) -> None:
        self.root, self.backward = Node(), Node()
        # Ops that are matched in parts: for tracked operands (True), others (False).
        self.inner: dict[Any, set[bool]] = {}
        # Why ops are run as they are: (text, place) -> how often.
        self.reasons: dict[str, int] = {}
        self.region: Region | None = None
        self.busy = threading.Lock()
        self.nodes = self.compiled = 0

    def values(self, t: Tensor) -> Array:
        """The values of a tensor for which they were put off."""
        region = self.region
        if region is not None:
            region.settle()
        try:
            values: Array = _slot(t)
            return values
        except AttributeError:
            raise RuntimeError(
                "the values of a tensor were lost, as the program that was to compute them failed"
            ) from None

    def share(self, t: Tensor, other: Tensor) -> bool:
        """Let `other` have the same memory, if that is still to come."""
        region = self.region
        return region is not None and other.__class__ is Tensor and region.also(t, other)


class Region:
    """One pass through a trace: an interpreter in the dispatcher of this thread."""

    def __init__(self, trace: Trace, begin: Node) -> None:
        self.trace, self.node, self.thread = trace, begin, threading.get_ident()
        self.lock = threading.RLock()
        self.recorder = RegionRecorder(self)
        self.unit: Unit | None = None
        self.recording = self.effects = False
        self.context: ExitStack | None = None
        self.matched = self.recorded = 0
        # Whether all programs were there.
        self.warm = True
        self._begin()

    def _begin(self) -> None:
        """A segment begins."""
        self.recording = self.effects = False
        self.start = self.node
        # Of tensors, by their ids: (place, a weak reference); of places: who may want its values.
        self.places: dict[int, tuple[int, Any]] = {}
        self.alive: list[tuple[int, Any]] = []
        # What came in, by place: arrays; (weak reference, array); of memory that others may write to, itself.
        self.arrays: dict[int, Array] = {}
        self.inputs: dict[int, tuple[Any, Array]] = {}
        self.real: dict[int, Array] = {}
        self.roots: dict[int, list[int]] = {}
        self.entered: list[Any] = []
        self.count = 0
        # Tensors that pending ops write to, and their arrays; those whose storages were made here.
        self.emptied: list[tuple[Tensor, Array]] = []
        self.private: dict[int, Any] = {}
        self.shares: set[int] = set()

    # --- the dispatcher -------------------------------------------------------------------------------

    def run(self, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op."""
        with self.lock:
            return self._match_op(row, call, args, kwargs)

    def matched_formula(self, formula: Any, values: tuple[Any, ...]) -> Any:
        """A formula that is no row: a derived gradient."""
        modes = STACK.modes
        modes.pop()
        try:
            with self.lock:
                return self._match_op(None, formula, values, {})
        finally:
            modes.append(self)

    def _match_op(self, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inner = self.trace.inner.get(call)
        if (inner is not None and tracked(args, kwargs) in inner) or (
            row is not None and row.inplace and (kwargs.get("inplace") or any([v is True for v in args]))
        ):
            return self._within(call, args, kwargs)
        if getattr(call, "writes", False):
            done = self._functional(row, args, kwargs)
            if done is not None:
                return done
        tensors: list[Tensor] = []
        numbers: list[int] = []
        parts: list[Any] = [call, LOCAL.enabled, LOCAL.inference]
        try:
            for value in args:
                self._describe(value, tensors, numbers, parts)
            for name, value in kwargs.items():
                if name == "out" and (
                    isinstance(value, Tensor)
                    or (isinstance(value, (tuple, list)) and any([isinstance(v, Tensor) for v in value]))
                ):
                    raise _Untraceable("out= is given")
                parts.append(name)
                self._describe(value, tensors, numbers, parts)
        except _Untraceable as why:
            return self._refuse(str(why), row, call, args, kwargs)
        key = tuple(parts)
        child = self.node.next.get(key)
        if child is None and len(self.node.next) >= MOST_BRANCHES:
            return self._refuse("too many other ops have followed here", row, call, args, kwargs)
        if child is not None and child.fixed:
            return self.eagerly(past_interpreters(row, call) if row is not None else call, args, kwargs)
        if child is None or child.step is None or child.seen < 2 or self.recording:
            return self._record(child, key, row, call, args, kwargs, tensors, numbers)
        if child.step.writes and not self._empty(child.step, tensors, numbers):
            return self._refuse("memory is written to that others may see", row, call, args, kwargs)
        return self._match(child, tensors)

    def _refuse(self, why: str, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.note(f"{getattr(row, 'name', '') or repr(call)[:40]}(): {why}")
        return self.eagerly(past_interpreters(row, call) if row is not None else call, args, kwargs)

    def note(self, why: str) -> None:
        """Why a segment ends, for the report."""
        self.trace.reasons[why] = self.trace.reasons.get(why, 0) + 1

    def _within(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Hear what the op consists of."""
        STACK.modes.append(self)
        try:
            return call(*args, **kwargs)
        finally:
            STACK.modes.remove(self)

    def eagerly(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it as if no region were there, after what was put off."""
        self.settle()
        with self._away():
            return call(*args, **kwargs)

    def aside(self, call: Any, args: tuple[Any, ...]) -> Any:
        """Run what neither reads nor writes memory as if no region were there."""
        with self._away():
            return call(*args)

    @contextmanager
    def _away(self) -> Iterator[None]:
        modes = STACK.modes
        at = modes.index(self) if self in modes else -1
        if at >= 0:
            del modes[at]
        TAPE.remove(self.recorder)
        MODES.remove(self)
        try:
            yield
        finally:
            TAPE.append(self.recorder)
            MODES.append(self)
            if at >= 0:
                modes.insert(at, self)

    # --- operands --------------------------------------------------------------------------------------

    def _describe(self, value: Any, tensors: list[Tensor], numbers: list[int], parts: list[Any]) -> None:
        """Add to an op's key what tells this argument apart: a call whose op has another key is recorded
        there.

        Of a tensor: its place in the segment (~place where it requires grad), or what `_enter` says of one
        that comes in: dtype, device, sizes, strides, requires_grad.
        """
        cls = value.__class__
        if cls in PLAIN:
            tensors.append(value)
            known = self.places.get(id(value))
            if known is not None and known[1]() is value:
                place = known[0]
                parts.append(place if value._g is None else ~place)
            else:
                place = self._enter(value, parts)
            numbers.append(place)
        elif cls in _PLAINLY:
            parts.append(cls)
            parts.append(value)
        elif cls is float:
            parts.append(cls)
            parts.append(value.hex())
        elif cls is tuple or cls is list or cls is Size:
            parts.append((cls, len(value)))
            for item in value:
                self._describe(item, tensors, numbers, parts)
        elif cls is slice:
            parts.append(cls)
            for item in (value.start, value.stop, value.step):
                self._describe(item, tensors, numbers, parts)
        else:
            raise _Untraceable(f"an argument is a {cls.__name__}")

    def _enter(self, t: Tensor, parts: list[Any]) -> int:
        """A tensor from elsewhere."""
        of, s = t._k, t._s
        if of.special or of.device.type != "cpu":
            raise _Untraceable("an argument is no plain tensor")
        a = t._a
        place, self.count = self.count, self.count + 1
        share = None
        if s is not None and (s.exposed or s.foreign):
            self.real[place] = a
            low, high = np.lib.array_utils.byte_bounds(a)
            flat = np.empty(max(high - low, 1), np.uint8)
            own = np.ndarray(a.shape, a.dtype, flat, pointer(a) - low, a.strides)
            own[...] = a
            a = own
        else:
            others = self.roots.setdefault(id(root(a)), [])
            share = next(
                (
                    p
                    for p in others
                    if (b := self.arrays[p]).shape == a.shape
                    and (b.strides == a.strides and b.dtype == a.dtype and pointer(a) == pointer(b))
                ),
                None,
            )
            others.append(place)
        self.arrays[place] = a
        ref = weakref.ref(t)
        self.inputs[place] = ref, a
        if place not in self.real:  # else what it holds may be other at its next use
            self.places[id(t)] = place, ref
        self.entered.append((place, of, a.shape, a.strides, share))
        parts.append((of, a.shape, a.strides, share, t._g is None, place in self.real))
        return place

    def mine(self) -> bool:
        """Whether this thread is the region's."""
        return threading.get_ident() == self.thread

    def listener(self) -> Unit | None:
        """Who listens to what runs now."""
        return self.unit if self.unit is not None and self.mine() else None

    def pending(self, t: Any) -> bool:
        """Whether a tensor's values are put off here, or were made in this segment."""
        known = self.places.get(id(t))
        return known is not None and known[1]() is t and known[0] not in self.arrays

    def also(self, t: Tensor, other: Tensor) -> bool:
        """Let `other` be a second tensor of the same memory."""
        known = self.places.get(id(t))
        if known is None or known[1]() is not t or known[0] in self.arrays or not self.mine():
            return False
        self._known(other, known[0])
        self.shares.add(known[0])
        self.private.pop(id(t), None)
        hidden = getattr(t, "_hidden", None)
        if hidden is not None:
            other._hidden = hidden
        return hidden is not None

    def alone(self, t: Tensor) -> bool:
        """Whether no other tensor shares the memory of one that is pending, which is all of it and dense."""
        place = self.places[id(t)][0]
        hidden = getattr(t, "_hidden", None)
        layout = t._l if hidden is None else hidden.layout
        return place not in self.shares and layout.flags.c_contiguous

    def _known(self, t: Tensor, place: int) -> None:
        ref = weakref.ref(t)
        self.places[id(t)] = place, ref
        self.alive.append((place, ref))

    # --- matching --------------------------------------------------------------------------------------

    def _match(self, node: Node, tensors: Sequence[Tensor]) -> Any:
        """The known op: shells for its results."""
        step: Any = node.step
        self.node = node
        self.matched += 1
        self.count = node.first + len(step.results)
        if self.entered:
            self.entered = []
        self.effects = self.effects or step.effects
        place, outs = node.first, []
        for r in step.results:
            if r.given >= 0:
                outs.append(tensors[r.given])
            else:
                outs.append(self._shell(r, place, tensors))
            place += 1
        out = outs[0] if step.many is None else outs if step.many is list else tuple.__new__(step.many, outs)
        if step.node is not None:
            function, template = step.node
            function(
                out,
                [tensors[v[1]] if v[0] else v[1] if v[0] is False else _filled(v, tensors) for v in template],
            )
        for k, by in step.bumps:
            bump(tensors[k], by)
        return out

    def _shell(self, r: Any, place: int, tensors: Sequence[Tensor]) -> Tensor:
        """A tensor whose values are to come."""
        t: Tensor = _new(Tensor)
        t._k = r.kind
        t._g = None
        t._i = 0
        t._hidden = r.pending
        if not r.whole:
            self.shares.add(place)
        if r.view is None:
            t._s = fresh() if INFERRING else None
        else:
            base, again, rest, step = r.view
            self._view(t, tensors[base], again, rest, step)
            self._viewed(tensors[base], place)
        ref = weakref.ref(t)
        self.places[id(t)] = place, ref
        self.alive.append((place, ref))
        return t

    def _view(self, t: Tensor, base: Tensor, again: Any, rest: Any, step: Any) -> None:
        """What dispatch/runners/views.py notes of a view."""
        s = base._s
        if s is None or s is INFERENCE:
            s = storage(base)
        t._s = s
        t._b = (base, again, rest, step)
        g = base._g
        if g is not None and not LOCAL.enabled:
            unrecorded(t)
        if g.__class__ is not AccumulateGrad:
            known = s.views
            if known is None or len(known) >= s.prune_at:
                remember(t, s)
            else:
                known.append(weakref.ref(t))

    def _viewed(self, base: Tensor, place: int) -> None:
        known = self.places.get(id(base))
        if known is not None:
            self.shares.add(known[0])
        self.shares.add(place)
        self.private.pop(id(base), None)

    # --- recording -------------------------------------------------------------------------------------

    def _record(
        self,
        child: Node | None,
        key: Any,
        row: Any,
        call: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tensors: list[Tensor],
        numbers: list[int],
    ) -> Any:
        """Run the op as ever and note what it did, or see that it did what was noted."""
        self._compute()
        self.recording = True
        self.recorded += 1
        recorded = tracked(args, kwargs)
        unit, out = self._listen(call, args, kwargs, tensors)
        step = unit.step(out, self.trace)
        if not isinstance(step, str) and any(
            [numbers[~r.spec.memory] in self.real for r in step.results if r.given < 0 and r.spec.memory < 0]
        ):
            step = "a view of memory that others may write to"
        parted = row is not None and row.kind == "composite" and not getattr(call, "writes", False)
        if isinstance(step, str) and parted:
            self.note(f"{row.name}() is matched in parts: {step}")
            self.trace.inner.setdefault(call, set()).add(recorded)
            self.settle()
            return out
        if child is None:
            child = self.node.next[key] = Node(self.node)
        if isinstance(step, str) or (child.seen and not child.step.same(step)):  # type: ignore[union-attr]
            why = step if isinstance(step, str) else "it did different things"
            self.note(f"{getattr(row, 'name', '') or repr(call)[:40]}(): {why}")
            child.fixed = True
            self.settle()
            return out
        if not child.seen:
            child.step, child.args, child.entered = step, numbers, self.entered
            child.first = self.count
            self.trace.nodes += 1
        child.seen += 1
        self._follow(child, step, out)
        for t, other in unit.aliases:
            if other.__class__ is Tensor:
                self.also(t, other)
        return out

    def _listen(
        self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]
    ) -> tuple[Unit, Any]:
        """What the op does, and its result."""
        if self.context is None:
            self.context = ExitStack()
            if settings.kernels != "numpy":
                self.context.enter_context(settings.using(kernels="llvm"))
        unit = self.unit = Unit(tensors)
        TRACES.add(self._noted)
        TRACES.asked = True
        done = False
        try:
            out = call(*args, **kwargs)
            done = True
        finally:
            TRACES.remove(self._noted)
            TRACES.asked = False
            self.unit = None
            if not done:  # nothing was noted of its operands: the next op is to meet them anew
                self.settle()
        return unit, out

    def _follow(self, child: Node, step: Step, out: Any) -> None:
        self.node, self.entered = child, []
        self.count = child.first + len(step.results)
        for i, (r, t) in enumerate(zip(step.results, [out] if step.many is None else out, strict=True)):
            if r.given < 0:
                self._known(t, child.first + i)
                if not r.whole:
                    self.shares.add(child.first + i)
                if r.view is not None:
                    self._viewed(t._b[0], child.first + i)

    def _noted(self, node: Any) -> None:
        how, TRACES.how = TRACES.how, None
        if self.unit is not None and self.mine() and node.__class__ is not AccumulateGrad:
            # Of several nothing is kept: views that are taken anew must die.
            self.unit.nodes = [None, None] if self.unit.nodes else [how]

    # --- writes ----------------------------------------------------------------------------------------

    def _functional(self, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of an op that writes to a result of this segment which nobody else sees: another result instead."""
        target = args[0] if args else row and kwargs.get(row.params[0].name)
        if (
            target.__class__ is not Tensor
            or row is None
            or row.kind != "pointwise"
            or (not self.pending(target) or getattr(target, "_b", None) is not None)
        ):
            return None
        own = self.private.get(id(target))
        if target._s is not None and (own is None or own() is not target):
            return None
        if (
            LOCAL.transforms
            or target._g.__class__ is AccumulateGrad
            or target._k.special
            or (self.places[id(target)][0] in self.shares)
        ):
            return None
        from rushlight._engine.dispatch.dispatcher import function

        stand = self._stand(target)
        made = self._within(
            function(row),
            tuple([stand if v is target else v for v in args]),
            {name: stand if v is target else v for name, v in kwargs.items()},
        )
        if (
            made.__class__ is not Tensor
            or made is target
            or not self.pending(made)
            or (made._k, made._l.shape, made._l.strides) != (target._k, target._l.shape, target._l.strides)
        ):
            return None
        self._become(target, made)
        return target

    def _stand(self, target: Tensor) -> Tensor:
        """Another tensor of what the target held, for nodes that keep it."""
        t: Tensor = _new(Tensor)
        t._k, t._g, t._i, t._s = target._k, target._g, target._i, None
        hidden = getattr(target, "_hidden", None)
        if hidden is None:
            t._a = target._a
        else:
            t._hidden = hidden
        self._known(t, self.places[id(target)][0])
        return t

    def _become(self, target: Tensor, made: Tensor) -> None:
        if made._g is not None:
            target._g, target._i = made._g, made._i
        if self.places[id(made)][0] in self.shares:  # its node keeps it: a later write is not to reach that
            before, LOCAL.enabled = LOCAL.enabled, False
            try:
                made = self._within(ROWS["clone"], (made,), {})
            finally:
                LOCAL.enabled = before
        hidden = getattr(made, "_hidden", None)
        if hidden is None:
            target._a = made._a
        else:
            if _filled_slot(target):
                del target._a
            target._hidden = hidden
        self._known(target, self.places[id(made)][0])
        bump(target, 1)
        self.private[id(target)] = weakref.ref(target)

    def _empty(self, step: Step, tensors: Sequence[Tensor], numbers: Sequence[int]) -> bool:
        """Whether what came in and is written to is seen by its tensors alone; their slots are emptied."""
        for k in step.writes:
            a = self.arrays.get(numbers[k])
            if a is None:
                continue
            held = [(ref(), b) for ref, b in self.inputs.values() if b is a]
            holders = [t for t, _ in held if t is not None]
            emptied = [t for t, b in self.emptied if b is a]
            if emptied and all(any(t is e for e in emptied) for t in holders):
                continue
            known = (
                sum(map(_filled_slot, holders))
                + sum([b is a for b in self.arrays.values()])
                + (2 * len(held) + len(emptied))
            )
            if (
                numbers[k] in self.real
                or sys.getrefcount(a) > known + 2
                or (
                    a.base is not None
                    and not (
                        isinstance(a.base, np.ndarray)
                        and a.base.base is None
                        and sys.getrefcount(a.base) <= 2
                    )
                )
            ):
                return False
            for t in holders:
                if _filled_slot(t):
                    self.emptied.append((t, a))
                    layout = np.lib.stride_tricks.as_strided(_nothing(a), a.shape, a.strides, writeable=False)
                    t._hidden = Pending(layout, self.trace)
                    del t._a
        return True

    # --- computing -------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Compute what was put off, and begin another segment."""
        with self.lock:
            if self.unit is not None:
                return
            self._compute()
            if self.node.parent is None:
                if self.places:
                    self._begin()
                return
            self._next()

    def _next(self) -> None:
        """The next segment."""
        if self.node.flushed is None:
            self.node.flushed = Node()
        self.node = self.node.flushed
        self._begin()

    def _compute(self) -> None:
        """Give shells that still live their values."""
        if self.recording:
            return
        shells, wanted, failed = [], [], False
        for place, ref in self.alive:
            t = ref()
            if t is not None and self.places[id(t)][0] == place and not _filled_slot(t):
                shells.append(t)
                wanted.append(place)
        try:
            if wanted or self.effects:
                self._fill(shells, wanted)
        except BaseException:
            failed = True  # it is not to run again: what would have come of it is lost
            raise
        finally:
            for t, a in self.emptied:
                if not _filled_slot(t):
                    t._a = a
                    del t._hidden
            self.emptied, self.effects = [], False
            if failed:
                self._next()

    def _fill(self, shells: list[Tensor], wanted: list[int]) -> None:
        order = tuple(sorted(set(wanted)))
        program = self.node.programs.get(order)
        if program is None:
            if len(self.node.programs) >= MOST_PROGRAMS:  # who holds what seems to be chance
                self.node.programs.clear()
            program = self.node.programs[order] = Program(Path(self.node), order)
        with self._away() if self.recorder in TAPE else ExitStack(), RUNNING:
            found = dict(zip(order, program.run(self.arrays, self), strict=True))
        for t, place in zip(shells, wanted, strict=True):
            spec = program.path.specs[place]
            a = seen(spec, self.real[spec.memory]) if spec.memory in self.real else found[place]
            t._a = a
            del t._hidden

    # --- the call --------------------------------------------------------------------------------------

    def __enter__(self) -> Region:
        self.trace.region = self
        STACK.modes.insert(0, self)
        MODES.append(self)
        TAPE.append(self.recorder)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            self.settle()
        except Exception:
            if error is None:
                raise
        finally:
            STACK.modes.remove(self)
            MODES.remove(self)
            TAPE.remove(self.recorder)
            self.trace.region = None
            if self.context is not None:
                self.context.close()


def _nothing(a: Array) -> Array:
    """An array without memory of its own, for a layout."""
    return np.empty((1,) * a.ndim, a.dtype)


def _filled_slot(t: Tensor) -> bool:
    try:
        _slot(t)
    except AttributeError:
        return False
    return True


def _filled(v: Any, tensors: Sequence[Tensor]) -> Any:
    cls, items = v[1]
    return cls([tensors[i[1]] if i[0] else i[1] if i[0] is False else _filled(i, tensors) for i in items])
