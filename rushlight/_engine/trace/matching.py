"""compile() by matching, for calls whose Python must run each time: their ops are compared with those of
earlier calls instead of being executed one by one (docs/decisions/11-matched-traces.md).

A *region* is a compiled call, or the backward pass through a graph that one left. In it, each op is compared
with the next op of the recorded trace. If it is the same, its result is a tensor whose values are *pending*:
its slot `_array` is empty, and whoever reads it makes the region compute all that is pending, as one program
(segment.py). Another op is executed at once, after what was pending. The first two calls along a path of the
trace are executed normally and recorded (trace.py); the second must do what the first did.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from rushlight._engine.autograd.function import in_forward
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import remember, unrecorded
from rushlight._engine.autograd.node import TRACES, AccumulateGrad
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.arguments import without_missing
from rushlight._engine.dispatch.interpreters import MATCHERS, MODES, PLAIN, STACK
from rushlight._engine.dispatch.overrides import past_interpreters
from rushlight._engine.kernels.runtime.tiers import at_once
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.storages.storage import INFERENCE, INFERRING, fresh, storage
from rushlight._engine.tensors.tensor import Tensor, expect_unfilled
from rushlight._engine.trace.effects.as_written import as_written
from rushlight._engine.trace.entrances import looks
from rushlight._engine.trace.learning import ROOM, Learning
from rushlight._engine.trace.passes.memory import RESTING
from rushlight._engine.trace.recorder import Array, frames_of, place_of, root, tracked
from rushlight._engine.trace.region_recorder import RegionRecorder, Suspended, Whole, holds_tensors, silent
from rushlight._engine.trace.shells import Shells
from rushlight._engine.trace.trace import (
    PLAINLY,
    SEQUENCES,
    Node,
    Step,
    Trace,
    Unit,
    bump,
    described,
    inserted,
    told,
)
from rushlight._engine.trace.updates import Updates
from rushlight._engine.trace.writes import Writes, filled

# How many ops are known to follow one.
MOST_BRANCHES = 64
_SHARED = "memory is written to that others may see"
_hidden, _new = Tensor.__dict__["_hidden"].__get__, object.__new__
# Of segments, as they begin.
_numbers = itertools.count()


# Composites that write to what they are given, and what they are told so by.
_UPDATING = {"batch_norm": "training", "instance_norm": "use_input_stats"}


def _is_parts(row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an op is known to be told by its parts: it works in place, or its gradient is that of them.
    Others are when they could not be described whole.
    """
    if row.inplace and (kwargs.get("inplace") or any([v is True for v in args])):
        return True
    if row.kind != "composite" or getattr(call, "writes", False):
        return False
    if row.name in _UPDATING:
        place = [p.name for p in row.params].index(_UPDATING[row.name])
        given = kwargs.get(_UPDATING[row.name], row.params[place].default)
        if args[place] if place < len(args) else given:
            return True
    return row.vjp is None and tracked(args, kwargs)


class _Untraceable(Exception):
    """An argument that nothing is known of."""


def _alike(a: Array, b: Array) -> bool:
    """Whether two arrays are the same memory, seen in the same way."""
    return b is a or (
        b.shape == a.shape and b.strides == a.strides and b.dtype == a.dtype and pointer(a) == pointer(b)
    )


class Region(Learning, Writes, Updates, Shells):
    """A pass through a trace, one after the other: an interpreter in the dispatcher of this thread."""

    # Of the pass: where the segment before this one ended, its thread and that thread's variables, and the
    # program that needs no Python.
    before: Node
    thread: int
    local: dict[str, Any]
    program: Any

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lock = threading.RLock()
        self.recorder = RegionRecorder(self)
        self.unit: Unit | None = None
        self.recording = False
        self.context: ExitStack | None = None
        # Closed when the collector of cycles is to go on, if it rests (learning.py); how many bytes may be
        # recorded meanwhile.
        self.resting, self.rests, self.room = ExitStack(), False, 0
        self.recorded = 0
        # How often something was done that no matcher repeats.
        self.events = 0
        # What was done beside ops, while a call is watched that is to be learnt: (node, what, ...).
        self.trail: list[Any] | None = None
        # Gradients that backward() begins with, by kind and by what is known of the loss; whether it has
        # been called.
        self.ones: dict[Any, Tensor] = {}
        self.walked = False
        # How many entrances of the trace there are to memory, by that (entrances.py).
        self.lying: dict[int, int] = {}
        # Whether a step's own node is being made.
        self.making = False
        # Whether all programs were there; whether an op came that is not known at other sizes, either.
        self.warm, self.fresh = True, False
        self.node = trace.root
        self.note_entrances = looks().met
        self._begin()

    def at(self, begin: Node) -> Region:
        """For a pass that begins here, in this thread."""
        self.before, self.node = begin, begin.after()
        self.start, self.known = self.node, self.node.known
        self.thread = self.recorder.thread = threading.get_ident()
        # Matchers look at these in the thread's dictionary.
        LOCAL.enabled, LOCAL.inference = LOCAL.enabled, LOCAL.inference
        self.local = LOCAL.__dict__
        # As the trace's; backward passes are not handed over.
        self.program = self.trace.program if begin is self.trace.root else None
        self.recorded, self.warm, self.fresh, self.walked = 0, True, False, False
        return self

    def _begin(self) -> None:
        """A segment begins."""
        self.recording = False
        self.wake()
        self.room = ROOM
        self.start = self.node
        # What takes calls at once (matchers.py): that of `node`, or nothing.
        self.known: dict[Any, Any] = self.node.known
        # Of tensors that have arrays, by their ids: (place, a weak reference).
        self.places: dict[int, tuple[int, Any]] = {}
        # Whose values may be wanted; there is another list as soon as these are computed.
        self.alive: list[Any] = []
        # What came in, by place: arrays; (weak reference, array); of memory that others may write to, itself.
        self.arrays: dict[int, Array] = {}
        self.inputs: dict[int, tuple[Any, Array]] = {}
        self.real: dict[int, Array] = {}
        self.roots: dict[int, list[int]] = {}
        self.entered: list[Any] = []
        self.count = 0
        # What came in of which that is not noted yet; the segment's number, and that of the newest of these.
        self.entrances: list[Any] = []
        self.number, self.newest = next(_numbers), -1
        # Tensors that pending ops write to, and their arrays; those whose storages were made here.
        self.emptied: list[tuple[Tensor, Array]] = []
        self.private: dict[int, Any] = {}
        self.shares: set[int] = set()
        self.stepped: list[Any] = []
        # Nodes of the graph that steps made, by the place of their first result.
        self.made: dict[int, Any] = {}
        # Memory that an op has written to which a program that is handed over leaves out.
        self.written: set[int] = set()

    # --- the dispatcher -------------------------------------------------------------------------------

    def run(self, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op."""
        key = call, tuple(kwargs)
        values = (*args, *kwargs.values())
        take = self.known.get(key)
        if take is not None:
            found = take(self, values)
            if found is not NotImplemented:
                return found
        mark = self.mark(key)
        with self.lock:
            found = self._match_op(row, call, args, kwargs)
        return self.learnt(key, mark, values, found)

    def matched_formula(self, formula: Any, values: tuple[Any, ...]) -> Any:
        """A formula that is no row: a derived gradient."""
        take = self.known.get(formula)
        if take is not None:
            found = take(self, values)
            if found is not NotImplemented:
                return found
        modes = STACK.modes
        mark = self.mark(formula)
        modes.pop()
        try:
            with self.lock:
                found = self._match_op(None, formula, values, {})
        finally:
            modes.append(self)
        return self.learnt(formula, mark, values, found)

    def custom(
        self, op: Any, run: Any, how: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An op of a program's own: a graph that is handed over holds it as one. With gradients, or where it
        writes to what it is given or does not say what it gives, by what it calls; so, too, where it may read
        unseen what this call makes or writes to.
        """
        modes, (*_, leaves) = STACK.modes, how
        if any(all(t is not v for v in leaves) for t, _ in self.emptied):
            return run(*how)
        here = self.program is not None and modes[-1] is self and self.mine() and self.unit is None
        plain = all([v.__class__ in PLAIN for v in leaves if isinstance(v, Tensor)])
        if not here or not plain or silent(op, leaves) or tracked(leaves, {}):
            return run(*how)
        if op not in self.trace.whole:
            self.trace.whole[op] = None if holds_tensors(op) else Whole(self.trace, op)
        whole = self.trace.whole[op]
        if whole is None:
            return run(*how)
        modes.pop()
        try:
            with self.lock:
                return self._match_op(None, whole, args, kwargs)
        finally:
            modes.append(self)

    def told(self, call: Any, tensors: Sequence[Tensor]) -> Any:
        """call(*tensors), which a graph that is handed over holds as one op; NotImplemented where that cannot
        be. call says all that tells it apart from others; a `silent` one computes nothing: a mark between
        ops.
        """
        here = self.program is not None and self.mine() and self.unit is None and self.trail is None
        if not here or any([t.__class__ not in PLAIN for t in tensors]):
            return NotImplemented
        with self.lock:
            return self._match_op(None, call, tuple(tensors), {})

    def late(self, shells: tuple[Tensor, ...]) -> bool:
        """After another thread had computed while an op was matched: whether the op was among what it did."""
        with self.lock:
            self.node = self.start
            self.known = {} if self.recording else self.node.known
            return bool(shells) and filled(shells[0])

    def _match_op(self, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.count, self.entered = self.node.count, []
        inner = self.trace.inner.get(call)
        if (inner is not None and tracked(args, kwargs) in inner) or (
            row is not None and _is_parts(row, call, args, kwargs)
        ):
            return self.within(call, args, kwargs)
        if getattr(call, "writes", False):
            done = self.functional(row, args, kwargs)
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
        if child.step.writes and not self.empty(child.step, child.origins()):
            self.trace.shared.setdefault(call, set()).add(place_of())
            return self._refuse(_SHARED, row, call, args, kwargs)
        return self._match(child, tensors)

    def _refuse(self, why: str, row: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.note(f"{getattr(row, 'name', '') or repr(call)[:40]}(): {why}", breaks=False)
        return self.eagerly(past_interpreters(row, call) if row is not None else call, args, kwargs)

    def note(self, why: str, breaks: bool = True) -> None:
        """Why a segment ends, for the report; breaks: as in recording.escape."""
        self.trace.reasons[why] = self.trace.reasons.get(why, 0) + 1
        if self.trace.ends is not None and "matched in parts" not in why:
            self.trace.ends.append((why, place_of(), breaks))

    def within(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Hear what the op consists of."""
        STACK.modes.append(self)
        try:
            return call(*args, **kwargs)
        finally:
            STACK.modes.remove(self)

    def eagerly(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it as if no region were there, after what was put off."""
        self.events += 1
        self.unwatch()
        self.settle()
        with Suspended(self):
            return call(*args, **kwargs)

    def aside(self, call: Any, args: tuple[Any, ...]) -> Any:
        """Run what neither reads nor writes memory as if no region were there."""
        self.events += 1
        self.unwatch()
        with Suspended(self):
            return call(*args)

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
            known = self.place_of(value)
            if known is None:
                known = self._enter(value, parts)
            else:
                parts.append(known if value._grad_node is None else ~known)
            numbers.append(known)
        elif cls in PLAINLY:
            parts.append(cls)
            parts.append(value)
        elif cls in SEQUENCES:
            parts.append((cls, len(value)))
            for item in value:
                self._describe(item, tensors, numbers, parts)
        elif cls is slice:
            parts.append(cls)
            for item in (value.start, value.stop, value.step):
                self._describe(item, tensors, numbers, parts)
        elif (what := told(value)) is not None:
            parts.append(what)
        else:
            raise _Untraceable(f"an argument is a {cls.__name__}")

    def _enter(self, t: Tensor, parts: list[Any]) -> int:
        """A tensor from elsewhere."""
        self.met()
        of, s = t._kind, t._storage
        if of.special or of.device.type != "cpu":
            raise _Untraceable("an argument is no plain tensor")
        a = t._array
        place: int = self.count
        self.count, self.newest = place + 1, self.number
        share = same = None
        if s is not None and (s.exposed or s.foreign):
            # Of no share, as it may hold something else at each use; but an op's operands may be the same.
            same = next((p for p, b in self.real.items() if _alike(b, a)), None)
            self.real[place] = a
            low, high = np.lib.array_utils.byte_bounds(a)
            flat = np.empty(max(high - low, 1), np.uint8)
            own = np.ndarray(a.shape, a.dtype, flat, pointer(a) - low, a.strides)
            own[...] = a
            a = own
        else:
            of_memory = id(root(a))
            share = same = self.twin(a, of_memory)
            self.roots.setdefault(of_memory, []).append(place)
        self.arrays[place] = a
        ref = weakref.ref(t)
        self.inputs[place] = ref, a
        if place not in self.real:  # else what it holds may be other at its next use
            self.places[id(t)] = place, ref
        self.entered.append((place, of, a.shape, a.strides, share))
        parts.append((of, a.shape, a.strides, same, t._grad_node is None, place in self.real))
        return place

    def mine(self) -> bool:
        """Whether this thread is the region's."""
        return threading.get_ident() == self.thread

    def listener(self) -> Unit | None:
        """Who listens to what runs now."""
        return self.unit if self.unit is not None and self.mine() else None

    def met(self) -> dict[int, list[int]]:
        """The places of what has come in, by the memory that it lies in."""
        roots = self.roots
        if self.entrances:
            self.note_entrances(self.entrances, self.inputs, self.arrays, self.places, roots)
            self.entrances = []
        return roots

    def twin(self, a: Array, of_memory: int) -> int | None:
        """The place of what has come in and is the same memory, seen in the same way."""
        others = self.met().get(of_memory)
        return next((p for p in others or () if _alike(self.arrays[p], a)), None)

    def place_of(self, t: Any) -> int | None:
        """The place of a tensor that was met in this segment."""
        try:
            hidden = _hidden(t)
        except AttributeError:
            pass
        else:
            if hidden.__class__ is Pending and hidden.place >= 0 and hidden.owner is self.trace:
                return hidden.place
        self.met()
        known = self.places.get(id(t))
        return known[0] if known is not None and known[1]() is t else None

    def pending(self, t: Any) -> bool:
        """Whether a tensor's values are put off here, or were made in this segment."""
        place = self.place_of(t)
        return place is not None and place not in self.arrays

    def also(self, t: Tensor, other: Tensor) -> bool:
        """Let `other` be a second tensor of the same memory."""
        place = self.place_of(t)
        if place is None or place in self.arrays or not self.mine():
            return False
        if not self.making:
            if self.trail is None:
                self.events += 1
            else:
                self.trail.append((self.node, "alias", place, other))
        hidden = getattr(t, "_hidden", None)
        if hidden is None:
            self.places[id(other)] = place, weakref.ref(other)
        else:
            other._hidden = hidden
            self.alive.append(weakref.ref(other))
        self.shares.add(place)
        self.private.pop(id(t), None)
        return hidden is not None

    def shared(self, place: int) -> bool:
        """Whether what lies at a place lies in memory that others lie in, too."""
        return place in self.shares or place in self.node.shared()

    def alone(self, t: Tensor) -> bool:
        """Whether no other tensor shares the memory of one that is pending, which is all of it and dense."""
        place: Any = self.place_of(t)
        hidden = getattr(t, "_hidden", None)
        layout = t._geometry if hidden is None else hidden.layout
        return not self.shared(place) and layout.flags.c_contiguous

    def know(self, t: Tensor, place: int) -> None:
        """Note that `t` is a tensor at this place."""
        ref = weakref.ref(t)
        if filled(t):
            self.places[id(t)] = place, ref
        else:
            self.alive.append(ref)

    # --- matching --------------------------------------------------------------------------------------

    def _match(self, node: Node, tensors: Sequence[Tensor]) -> Any:
        """The known op: shells for its results."""
        step: Any = node.step
        self.node, self.known = node, node.known
        self.making = True
        try:
            outs = [tensors[r.given] if r.given >= 0 else self._shell(r, tensors) for r in step.results]
            many = step.many
            out = outs[0] if many is None else outs if many is list else tuple.__new__(many, outs)
            if step.node is not None:
                function, template = step.node
                function(out, inserted((None, (list, template)), tensors))
                self.made[node.first] = outs[0]._grad_node
        finally:
            self.making = False
        for k, by in step.bumps:
            bump(tensors[k], by)
        return out

    def _shell(self, r: Any, tensors: Sequence[Tensor]) -> Tensor:
        """A tensor whose values are to come."""
        t: Tensor = _new(Tensor)
        t._kind = r.kind
        t._grad_node = None
        t._output_nr = 0
        t._hidden = r.pending
        if r.view is None:
            t._storage = fresh() if INFERRING else None
        else:
            base, again, rest, step = r.view
            self._view(t, tensors[base], again, rest, step)
            self.private.pop(id(tensors[base]), None)
        self.alive.append(weakref.ref(t))
        return t

    def _view(self, t: Tensor, base: Tensor, again: Any, rest: Any, step: Any) -> None:
        """What dispatch/runners/views.py notes of a view."""
        s = base._storage
        if s is None or s is INFERENCE:
            s = storage(base)
        t._storage = s
        t._view_of = (base, again, rest, step)
        g = base._grad_node
        if g is not None and not LOCAL.enabled:
            unrecorded(t)
        if g.__class__ is not AccumulateGrad:
            known = s.views
            if known is None or len(known) >= s.prune_at:
                remember(t, s)
            else:
                known.append(weakref.ref(t))

    # --- recording -------------------------------------------------------------------------------------

    def _step_of(self, unit: Unit, out: Any, numbers: list[int]) -> Any:
        """What an op that ran has done, or why that cannot be told."""
        step = unit.step(out, self.trace)
        if not isinstance(step, str) and any(
            [numbers[~r.spec.memory] in self.real for r in step.results if r.given < 0 and r.spec.memory < 0]
        ):
            step = "a view of memory that others may write to"
        if self.program is not None and (isinstance(step, str) or unit.warned):
            self.written = unit.changed()
        return step

    def _run_from_here(self) -> None:
        """What was put off is computed; ops run as they come, and are noted."""
        if not self.recording:
            for t, place in zip(*self.compute(self.node, ends=False), strict=True):
                self.places[id(t)] = place, weakref.ref(t)
        self.recording, self.known = True, {}
        self.recorded += 1
        self.rest()

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
        if call in self.trace.shared and place_of() in self.trace.shared[call]:
            return self._refuse(_SHARED, row, call, args, kwargs)
        self._run_from_here()
        unit, out = self._listen(call, args, kwargs, tensors)
        step = self._step_of(unit, out, numbers)
        self.room -= sum(unit.sizes)
        parted = row is not None and row.kind == "composite" and not getattr(call, "writes", False)
        if isinstance(step, str) and parted:
            self.note(f"{row.name}() is matched in parts: {step}")
            self.trace.inner.setdefault(call, set()).add(tracked(args, kwargs))
            if unit.repeats and not unit.warned:
                return self.by_parts(call, args, kwargs)
            self.settle()
            return out
        if child is None:
            child = self.node.next[key] = Node(self.node)
        if isinstance(step, str) or (child.seen and not child.step.same(step)):  # type: ignore[union-attr]
            why = step if isinstance(step, str) else "it did different things"
            self.note(f"{getattr(row, 'name', '') or repr(call)[:40]}(): {why}", breaks=False)
            child.fixed = True
            self.settle()
            return out
        if unit.warned:  # maybe only this once
            child.warned += 1
            child.fixed = child.warned > 1
            self.settle()
            return out
        if not child.seen:
            self.trace.new_at = self.trace.new_at or place_of()
            child.learn(step, numbers, self.count, self.entered)
            if self.program is not None:
                places = {id(t): p for t, p in zip(tensors, numbers, strict=True)}
                # Grad mode as the program says; None where it says nothing of that.
                mode = LOCAL.enabled or (None if in_forward() else False)
                how = as_written(row, bool(getattr(call, "writes", False)))
                given = described(args, places), described(without_missing(kwargs), places)
                child.said = row, call, *given, mode, frames_of(), how
            self.trace.nodes += 1
            child.resemble(self.node.known_at(key[0], step))
            self.fresh = self.fresh or child.like is None
        child.seen += 1
        self._follow(child, step, out)
        for t, other in [a for a in unit.aliases if a[1].__class__ is Tensor]:
            self.also(t, other)
        return out

    def _listen(
        self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]
    ) -> tuple[Unit, Any]:
        """What the op does, and its result."""
        if self.context is None:
            self.context = ExitStack()
            self.context.enter_context(at_once())
        unit = self.unit = Unit(tensors)
        TRACES.add(self._noted)
        TRACES.asked, TRACES.listener = True, self._renamed
        done = False
        try:
            out = call(*args, **kwargs)
            done = True
        finally:
            TRACES.remove(self._noted)
            TRACES.asked, TRACES.listener = False, None
            self.unit = None
            if not done:  # nothing was noted of its operands: the next op is to meet them anew
                self.settle()
        return unit, out

    def _follow(self, child: Node, step: Step, out: Any) -> None:
        self.node = child
        for i, (r, t) in enumerate(zip(step.results, [out] if step.many is None else out, strict=True)):
            if r.given < 0:
                self.know(t, child.first + i)
                if r.view is not None:
                    self.private.pop(id(t._view_of[0]), None)

    def _noted(self, node: Any) -> None:
        if not self.mine():
            return
        how, TRACES.how = TRACES.how, None
        if self.unit is not None and node.__class__ is not AccumulateGrad:
            # Of several nothing is kept: views that are taken anew must die.
            self.unit.nodes = [None, None] if self.unit.nodes else [how]

    # --- computing -------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Compute what was put off, and begin another segment."""
        with self.lock:
            if self.unit is not None:
                return
            node = self.node
            if node.parent is not None or self.alive or self.entrances or self.recording:
                self.compute(node)
            self.node = node
            if node.parent is not None:
                self.before = node
            elif not self.places and not self.inputs and node is self.before.after():
                self.known = {} if self.recording else node.known
                return
            self.node = self.before.after()
            self._begin()

    def _aside(self) -> Any:
        """While a program runs: what runs is run as if this region were not there."""
        return Suspended(self) if self.recorder in TAPE else ExitStack()

    # --- the call --------------------------------------------------------------------------------------

    def __enter__(self) -> Region:
        self.trace.region = self
        STACK.modes.insert(0, self)
        MODES.append(self)
        expect_unfilled(lasting=False)  # shells have no array yet
        TAPE.append(self.recorder)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            self.unwatch()
            begun = self.node.parent is not None or self.recording or self.entrances
            if begun or self.alive or self.places or self.inputs:
                self.settle()
        except Exception:
            if error is None:
                raise
        finally:
            STACK.modes.remove(self)
            MODES.remove(self)
            TAPE.remove(self.recorder)
            self.trace.region = None
            self.wake()
            RESTING.called()
            if self.context is not None:
                self.context.close()
                self.context = None


MATCHERS.add(Region)
