"""A recorded call as a program: prepared calls in order, on memory that stays."""

from __future__ import annotations

import copy
import math
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.hooks import LENT
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.layout import pointer
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.core.settings import settings
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch.runners.formulas import CompiledFormula
from rushlight._engine.dispatch.runners.recorded import recorded
from rushlight._engine.kernels.runtime.handwritten_stages import Scratch
from rushlight._engine.tensors.gradient import LEFT, keep_asked
from rushlight._engine.tensors.storages import memory_pages
from rushlight._engine.tensors.storages.storage import INFERENCE, Storage, address
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight._engine.trace import stage_planning
from rushlight._engine.trace.graph import whole
from rushlight._engine.trace.passes import gradients
from rushlight._engine.trace.passes.fusion import Fusing
from rushlight._engine.trace.passes.memory import Arena, ArenaLayout, Room, pinned
from rushlight._engine.trace.passes.recompute import within
from rushlight._engine.trace.passes.simplify import fold, once
from rushlight._engine.trace.passes.verify import sources, unmoved, verify
from rushlight._engine.trace.recorder import Array, Entry, Recorder, arrays, flat, root, roots, take
from rushlight._engine.trace.regions import CompiledBackward, Traced, nodes, order_of, saved
from rushlight._engine.trace.trace import Spec

_LINE = 64
# Addresses for what stages work in; what is used of them takes memory.
_SCRATCH = 1 << 30
# Results of so many bytes are handed out where they are made, unless they were held so often at the next run.
_MUCH, _OFTEN = 1 << 13, 2
# What is not known yet, where None is an answer.
_UNKNOWN: Any = object()
# References to an array that nobody but its list holds, as that is gone through.
_IDLE = 3


class Part:
    """Entries with what they are given and what they leave behind: a forward, or a backward."""

    def __init__(self, inputs: Sequence[Tensor], entries: Sequence[Entry], output: Any) -> None:
        self.inputs = [t._array for t in inputs]
        self.entries, self.output = list(entries), output
        # What each entry is run by, and the same with native ones in one call.
        self.steps: list[Callable[[], Any]] = []
        self.replay: list[Callable[[], Any]] = []

    def run(self, arrays: Sequence[Array | None]) -> None:
        """All steps, on these inputs (zeros for None)."""
        for own, a in zip(self.inputs, arrays, strict=True):
            own[...] = 0 if a is None else a
        token = hush()
        try:
            for step in self.replay:
                step()
        finally:
            restore(token)


class Lent:
    """Memory of a result that is handed out as it is, each time that nobody holds it; often: how often it was
    held still.
    """

    def __init__(self, like: Array) -> None:
        self.shape, self.dtype, self.often = like.shape, like.dtype, 0
        arena = np.empty(like.nbytes + _LINE, np.uint8)
        start = -pointer(arena) % _LINE
        self._memory = arena[start : start + like.nbytes]
        # An array of its own, which nobody can look past: views of what is handed out hold it.
        own: Any = self._memory
        self.flat = np.frombuffer(memoryview(own), np.uint8)
        self._given = np.frombuffer(memoryview(own), np.uint8)
        LENT[id(self._given)] = self._given
        self._idle = sys.getrefcount(self._given)

    @property
    def busy(self) -> bool:
        """Whether what was handed out is still held."""
        return sys.getrefcount(self._given) > self._idle

    def array(self) -> Array:
        """The memory, for one holder."""
        return np.ndarray(self.shape, self.dtype, self._given)


class Output:
    """Memory of wanted results, at `specs`. kept: arrays in the program's own are handed out, else copies.

    The arrays are the same at each run: whether anybody holds them is seen by the references to them, and to
    `given`, which views of them hold.
    """

    def __init__(self, memory: int, size: int, kept: bool, specs: Sequence[Spec]) -> None:
        self.memory, self.kept, self.specs = memory, kept, list(dict.fromkeys(specs))
        self.arena = np.empty(size + _LINE, np.uint8)
        start = -pointer(self.arena) % _LINE
        self.flat = self.arena[start : start + size]
        own: Any = self.flat
        self._given = np.frombuffer(memoryview(own), np.uint8)  # one that no view of it looks past
        LENDERS[id(self._given)] = self
        self._arrays = self._seen_in(self._given) if kept else []
        first = self.specs[0]
        # A copy of an array, where that is all there is.
        alone = (
            len(self.specs) == 1
            and not first.offset
            and first.dtype.itemsize * math.prod(first.shape) == size
        )
        whole = self._seen_in(self.flat)[0]
        self._whole = whole if alone and whole.copy().strides == whole.strides else None
        self._idle = sys.getrefcount(self._given)

    def _seen_in(self, flat: Array) -> list[Array]:
        return [np.ndarray(s.shape, s.dtype, flat, s.offset, s.strides) for s in self.specs]

    @property
    def busy(self) -> bool:
        """Whether what a run handed out is still held."""
        held = sys.getrefcount(self._given) > self._idle
        return held or any([sys.getrefcount(a) > _IDLE for a in self._arrays])

    def alone(self, a: Array) -> bool:
        """Whether of what a run handed out only this array is held."""
        others = any([b is not a and sys.getrefcount(b) > _IDLE for b in self._arrays])
        return not others and sys.getrefcount(self._given) <= self._idle

    def give(self) -> list[Array]:
        """Arrays at `specs` for whoever wants them."""
        if self.kept:
            return self._arrays
        return self._seen_in(self.flat.copy()) if self._whole is None else [self._whole.copy()]


# Who hands out arrays, by the ids of what these are views of.
LENDERS: weakref.WeakValueDictionary[int, Output] = weakref.WeakValueDictionary()


def _result(t: Tensor, array: Array) -> Tensor:
    """A tensor of these values like a call's result `t`: made in inference mode if that was."""
    made = wrap(array, t._kind)
    if t._storage is not None and t._storage.inference:
        made._storage = INFERENCE
    return made


def _whole(t: Tensor) -> Array:
    """The memory that a result lies in. A copy that stands for an argument has the argument's storage, which
    is not to know the copy's memory.
    """
    s = storage(t)
    known = s._bytes
    found = s.bytes(t._array)
    s._bytes = known
    return found


class Results:
    """How a call's results lie in memory, which some of them may share: another's are laid out likewise."""

    def __init__(self, output: Any) -> None:
        tensors = results_of(output)
        known: dict[int, int] = {}
        # Of each result, which is the first that is the same tensor.
        self.firsts = [known.setdefault(id(t), n) for n, t in enumerate(tensors)]
        memory = list(map(_whole, tensors))
        members = holders(tensors)
        # Of each result, where it lies in which memory; None: it is all of its own.
        self.places: list[Spec | None] = []
        self.memory: dict[int, Array] = {}
        for t, whole_of in zip(tensors, memory, strict=True):
            a, group = t._array, id(t._storage)
            if members[group] == 1 and a.nbytes == whole_of.nbytes and np.empty_like(a).strides == a.strides:
                self.places.append(None)
            else:
                at = address(a) - address(whole_of)
                self.places.append(Spec(group, at, a.shape, a.strides, a.dtype))
                self.memory[group] = whole_of
        self.plain = not any(self.places) and len(known) == len(tensors)

    def copied(self, tensors: Sequence[Tensor], given: Sequence[Tensor | None]) -> list[Tensor]:
        """Tensors with these values, in memory laid out alike; given: what stands for a tensor as it is."""
        made: list[Tensor] = []
        memory: dict[int, tuple[Array, Storage | None]] = {}
        rows = zip(tensors, self.firsts, self.places, given, strict=True)
        for n, (t, first, place, own) in enumerate(rows):
            if first < n:
                made.append(made[first])
            elif own is not None:
                made.append(own)
            elif place is None:
                made.append(_result(t, t._array.copy("K")))
            else:
                flat, shared = memory.get(place.memory) or (self.memory[place.memory].copy(), None)
                array = np.ndarray(place.shape, place.dtype, flat, place.offset, place.strides)
                made.append(_result(t, array))
                if shared is not None:
                    made[-1]._storage = shared
                memory[place.memory] = flat, storage(made[-1])
        return made


class Program:
    """What a function did, to be done again.

    inputs: the tensors that the recorded call worked on; their memory is the program's own.
    output: what the function gave, a tree of tensors and other values.
    traced: the gradients of tracked results, where the function left a graph behind.
    until: when to stop fusing kernels, by time.perf_counter(); `fused` says whether there was time for it.
    share: how much of a forward's results is kept for its backward; see recompute.py.
    """

    guarded: list[Tensor]  # tensors of the function that later parts read, once it is settled

    def __init__(
        self,
        recorder: Recorder,
        inputs: Sequence[Tensor],
        output: Any,
        traced: Traced | None = None,
        until: float | None = None,
        share: float = 1.0,
    ) -> None:
        tracked = [] if traced is None else tracked_of(output)
        self.laid = Results(output)
        self.numbers = {id(t): n for n, t in enumerate(tracked)}
        self.memory, self.share = recorder.owned, share
        # What the recorded call handed out; passes make memory of their own.
        self.known = (recorder if traced is None else traced.recorder).owned
        self.backward: Part | None = None
        # In which order the dims of what a backward pass is given lay when it was recorded.
        self.orders = [] if traced is None else [order_of(g) for g in traced.given]
        # Where gradients go: to a tensor of the function's, or to the argument at a place.
        self.leaves: list[tuple[Tensor, int | None]] = []
        later: list[Entry] = []
        if traced is not None:
            found = list(traced.found)
            places = {id(t): place for place, t in enumerate(inputs)}
            self.leaves = [(leaf, places.get(id(leaf))) for leaf in traced.leaves]
            later = needed(traced.recorder.entries, found)
            self.backward = Part(traced.given, later, found)
        read = roots([e.given for e in later])
        # Arguments and results that the backward pass reads.
        self.read_of_inputs, self.read_of_results = (
            [n for n, t in enumerate(given) if id(root(t._memory)) in read]
            for given in (inputs, results_of(output))
        )
        live = output, [e.given for e in later]
        self.forward = Part(inputs, gradients.straight(needed(recorder.entries, live), live), output)
        # What is the same at every replay.
        self.constants: list[Array] = []
        self.folded: list[Entry] = []  # what that was made by
        self.parts = [self.forward] if self.backward is None else [self.forward, self.backward]
        # What was done, whatever the sizes; and what is done now.
        self.said = [[_told(e) for e in part.entries if e.kind != "mark"] for part in self.parts]
        self.fused = self._improved(Fusing(self.known, until))
        self.names = [[e.name for e in part.entries] for part in self.parts]
        self._begin()

    def _begin(self) -> None:
        """What is known once it is settled, and as it runs."""
        # What is handed out where it is made, by its memory.
        self.lent: dict[int, Lent] = {}
        # Memory of others that a run writes to.
        self.written: list[Array] = []
        self.writes: set[int] = set()  # the memory that these lie in
        # What it runs, but for the memory.
        self.does: Any = None
        self.plan: ArenaLayout | None = None
        self.arena: Array | None = None
        # Tensors that are the function's, not its arguments: results that are among them are handed out.
        self.outside: frozenset[int] = frozenset()
        # Where a result stands for something else than memory of the program, by its id: see _stands.
        self._standing: dict[int, Any] = {}
        # Why it is not to run again, as a backward pass has shown.
        self.refusal = ""
        self.room = Room()

    def with_parts(
        self,
        parts: list[Part],
        folded: list[Entry],
        numbers: dict[int, int],
        laid: Results,
        memory: dict[int, Any],
        room: Room,
    ) -> Program:
        """A program, not settled, that does the same by these parts: at other sizes (sizes/)."""
        made = copy.copy(self)
        made.parts, made.folded, made.numbers, made.laid, made.memory = parts, folded, numbers, laid, memory
        made.forward, made.backward = parts[0], parts[1] if parts[1:] else None
        made.constants = [root(o) for e in folded for o in e.outs]
        made._begin()
        made.room = room
        return made

    def _improved(self, fusing: Fusing) -> bool:
        """Lower, recompute, fuse; whether there was time for it, else the entries stay as they were."""

        def verified(after: str, entries: Sequence[Sequence[Entry]], before: Any = None) -> None:
            if settings.verify:
                verify(whole(self.parts, entries), after, before and whole(self.parts, before))

        outputs = [part.output for part in self.parts]
        verified("recorded", [part.entries for part in self.parts])
        recorded, self.constants, self.folded = fold(
            [part.entries for part in self.parts], outputs, self.known
        )
        verified("constants", recorded, [part.entries for part in self.parts])
        lower = [fusing.lower(part) for part in recorded]
        verified("lowered", lower, recorded)
        read = [outputs, [e.given for e in lower[-1]] if self.backward else ()]
        single = [once(part, live) for part, live in zip(lower, (read, outputs), strict=False)]
        verified("once", single, lower)
        kept = within(self.share, single, outputs)
        verified("recompute", kept, single)
        fused, live = [], []
        for part, entries in zip(self.parts[::-1], kept[::-1], strict=True):
            live.append(part.output)
            fused.append(fusing.fuse(needed(entries, live), live))
            live += [e.given for e in fused[-1]]
        verified("fused", fused[::-1], kept)
        for part, entries in zip(self.parts, recorded if fusing.late else fused[::-1], strict=True):
            part.entries = [e for e in entries if e.kind != "mark"]
        return not fusing.late

    @property
    def entries(self) -> list[Entry]:
        """All of them."""
        return [e for part in self.parts for e in part.entries]

    def settle(self, known: Sequence[Tensor]) -> None:
        """Lay results out in memory of the program's own; what the recorded call made is left alone.

        known: the tensors that the function may use.
        """
        read = roots([e.given for part in self.parts[1:] for e in part.entries])
        self.outside = frozenset(map(id, known))
        self.guarded = [t for t in known if id(root(t._memory)) in read]
        listed = whole(self.parts)
        before = sources(listed) if settings.verify else []
        lent = self._lent()
        self.plan = ArenaLayout(listed, lent)
        arena = Arena(self.plan, self.room)
        self.arena = arena.array
        arena.places.update({key: (one.flat, 0) for key, one in lent.items()})
        numbers = {}
        scratch = Scratch(memory_pages.Range(_SCRATCH).at(0))
        for part in self.parts:
            for e in part.entries:
                e.move(arena)
            inputs = {id(a): arena(a) for a in part.inputs}
            part.inputs = [inputs[id(a)] for a in part.inputs]

            def moved(t: Tensor, inputs: dict[int, Array] = inputs) -> Tensor:
                made = _result(t, inputs[id(t._array)] if id(t._array) in inputs else arena(t._array))
                made._grad_node, made._output_nr = t._grad_node, t._output_nr
                made = made if made._array is not t._array else t
                if id(t) in self.numbers:
                    numbers[id(made)] = self.numbers[id(t)]
                return made

            part.output = mapped(part.output, moved)
            if part is self.forward:
                self.laid.memory = {key: arena(flat) for key, flat in self.laid.memory.items()}
            part.steps = stage_planning.steps(part.entries, scratch)
            part.replay = stage_planning.together(part.steps)
        if settings.verify:
            unmoved(before, whole(self.parts), "memory plan")
        self.does = tuple([stage_planning.does(p.entries, p.steps) for p in self.parts])
        for e in self.forward.entries:
            if e.function is take:
                LEFT.update({id(own): own for _, own, _ in e.operands[0]})
        self.numbers, self.known, self._standing = numbers, {}, {}
        self.lent = {id(root(one.flat)): one for one in lent.values()}
        made = roots([e.outs for e in self.entries if e.kind == "run"])
        own = {id(root(arena.array)), *self.lent, *made}.union(*[roots(part.inputs) for part in self.parts])
        self.written = [
            a for e in self.entries if e.kind == "write" for a in arrays(e.operands) if id(root(a)) not in own
        ]
        self.writes = roots(self.written)
        outputs = roots(self.forward.output)
        self.memory = {key: self.memory[key] for key in outputs & self.memory.keys()} | dict.fromkeys(
            roots(arena.array), arena.array
        )

    def _lent(self) -> dict[int, Lent]:
        """Large gradients of one leaf each, which the caller gets where they are made, by their memory."""
        if self.backward is None:
            return {}
        made = {id(root(o)) for e in self.backward.entries if e.kind == "run" for o in e.outs}
        free = made - roots(self.forward.output) - pinned(self.entries)
        given = [t._array for t in self.backward.output if t is not None]
        times = Counter(id(root(a)) for a in given)
        return {
            id(root(a)): Lent(a)
            for a in given
            if isinstance(root(a), np.ndarray)
            and a.nbytes >= _MUCH
            and times[id(root(a))] == 1
            and id(root(a)) in free
            and (a.flags.c_contiguous and a.nbytes == root(a).nbytes)
        }

    # --- replays --------------------------------------------------------------------------------------

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """The results for these inputs, of the recorded shapes and dtypes."""
        keep_asked()
        self.forward.run([t._array for t in tensors])
        node = None
        if self.backward is not None:
            ends = [leaf if place is None else tensors[place] for leaf, place in self.leaves]
            node = CompiledBackward(
                tuple([None if t._grad_node is None else (t._grad_node, t._output_nr) for t in ends]),
                (self, saved([*self.guarded, *[tensors[n] for n in self.read_of_inputs]])),
            )
            self.room.latest = weakref.ref(node)
        output = self.results(tensors, node)
        if self.read_of_results and node is not None:
            found = results_of(output)
            node.saved[1].extend(saved([found[n] for n in self.read_of_results]))
        return output

    def run_backward(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The leaves' gradients, for those of the tracked results."""
        part: Any = self.backward
        given = *grads, *[None] * (len(part.inputs) - len(grads))
        # The pass writes over what it reads of the forward one: another pass is to find that again.
        arena = self.arena if LOCAL.retains else None
        before = None if arena is None else arena.copy()
        # What the last run's gradients hold still stays as it is.
        held = [(one, one.flat.copy()) for one in self.lent.values() if one.busy]
        part.run([None if g is None else g._array for g in given])
        busy = {id(root(one.flat)) for one, _ in held}

        def handed(t: Tensor) -> Tensor:
            memory = id(root(t._array))
            one = self.lent.get(memory)
            if one is None or memory in busy or one.often > _OFTEN:
                return wrap(t._array.copy("K"), t._kind)
            return wrap(one.array(), t._kind)

        found = [None if t is None else handed(t) for t in part.output]
        for one, values in held:
            one.flat[...] = values
            one.often += 1
        if arena is not None:
            arena[...] = before
        return found

    def _stands(self, t: Tensor) -> Any:
        """What a result is handed out as: the argument at a place, itself, or (None) a copy."""
        for place, mine in enumerate(self.forward.inputs):
            if t._array is mine:
                return place
        return t if id(t) in self.outside or id(root(t._array)) not in self.memory else None

    def results(self, tensors: Sequence[Tensor], node: Any = None) -> Any:
        """The output's tree with tensors of its own: a later run does not change them."""

        def own(t: Tensor) -> Tensor | None:
            stands = self._standing.get(id(t), _UNKNOWN)
            if stands is _UNKNOWN:
                stands = self._standing[id(t)] = self._stands(t)
            return tensors[stands] if stands.__class__ is int else stands

        def linked(t: Tensor, made: Tensor) -> Tensor:
            number = self.numbers.get(id(t)) if node is not None else None
            # A graph that is not the node's was used up by the call's own backward().
            made._grad_node, made._output_nr = (
                (t._grad_node, t._output_nr) if number is None else (node, number)
            )
            return made

        def fresh(t: Tensor) -> Tensor:
            given = own(t)
            return linked(t, _result(t, t._array.copy("K"))) if given is None else given

        output = self.forward.output
        if self.laid.plain:
            return fresh(output) if output.__class__ is Tensor else mapped(output, fresh)
        found = results_of(output)
        kept = [own(t) for t in found]
        made = self.laid.copied(found, kept)
        for t, twin, given in zip(found, made, kept, strict=True):
            if given is None:
                linked(t, twin)
        return replaced(output, made)


def _told(e: Entry) -> tuple[Any, ...]:
    """What an entry is at all sizes."""
    what = recorded(e.function)
    formula = what.compiled or next((v for v in e.operands if isinstance(v, CompiledFormula)), None)
    meaning = what.reducer if formula is None else formula.kernel
    plain = [v for v in flat(e.operands) if v.__class__ in (bool, str, dtype)]
    return e.kind, e.name, meaning, plain, [(o.dtype, o.ndim) for o in (*e.outs, *arrays(e.operands))]


class Recorded:
    """What the record of a program that has not been settled holds: what runs are to leave."""

    def __init__(self, program: Program) -> None:
        self.constants, self.known, self.names = program.constants, program.known, program.names
        self.parts: list[Part] = []
        for part in program.parts:
            own = copy.copy(part)
            own.entries = [Entry(e.kind, e.function, e.operands, e.outs, e.where) for e in part.entries]
            self.parts.append(own)


def is_tracked(t: Any) -> bool:
    """Whether a result's backward pass is still to come."""
    # backward() has been through it if something in it has been freed.
    return (
        isinstance(t, Tensor)
        and t._grad_node is not None
        and t._grad_node.__class__ is not AccumulateGrad
        and not any(n.saved is None for n in nodes([t._grad_node]) if n.__class__ is not AccumulateGrad)
    )


def tracked_of(output: Any) -> list[Tensor]:
    """The results whose backward pass is still to come, each once."""
    return list({id(t): t for t in flatten(output)[0] if is_tracked(t)}.values())


def results_of(output: Any) -> list[Tensor]:
    """All tensors in what a call gave, one that is there twice included."""
    return [v for v in flatten(output)[0] if isinstance(v, Tensor)]


def holders(results: Sequence[Tensor]) -> Counter[int]:
    """How many results lie in each storage that some have, by its id; one that is there twice counts once."""
    return Counter(id(storage(t)) for t in {id(t): t for t in results}.values())


def replaced(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """A tree of lists, tuples and dicts with these tensors for its own."""
    coming = iter(tensors)
    return mapped(tree, lambda t: next(coming))


def mapped(tree: Any, change: Callable[[Tensor], Any]) -> Any:
    """A tree of lists, tuples and dicts with its tensors changed; a Size stays one."""
    return tree_map(lambda v: change(v) if isinstance(v, Tensor) else v, tree, is_leaf=_is_size)


def _is_size(value: Any) -> bool:
    return value.__class__ is Size


def needed(entries: Sequence[Entry], output: Any) -> list[Entry]:
    """Without entries whose results nothing reads: backwards from the output and from all effects."""
    wanted = roots(output)
    kept: list[Entry] = []
    for e in reversed(entries):
        if e.kind == "run" and e.outs and not any(id(root(o)) in wanted for o in e.outs) and not e.draws:
            continue
        kept.append(e)
        wanted |= e.reads()
    return kept[::-1]
