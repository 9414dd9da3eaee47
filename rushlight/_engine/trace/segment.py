"""A segment: the ops of a trace between two points at which values were read, as one program.

It is compiled by the passes that replayed programs have (passes/), or executed entry by entry until that is
done. A program belongs to a path of the trace and to the set of results that are wanted at its end. Inputs
that keep their memory, as parameters do, are bound to it when the program is compiled; others are copied in.
Wanted results get memory of their own, which is used again when nobody holds it; small ones are copied out.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime.handwritten_stages import Scratch
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.kernels.runtime.tiers import at_once
from rushlight._engine.numerics.rng import default_engine
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.tensors.storages import memory_pages
from rushlight._engine.tensors.storages.storage import owner
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace import stage_planning
from rushlight._engine.trace.entrances import looks
from rushlight._engine.trace.passes.fusion import Fusing
from rushlight._engine.trace.passes.memory import ARENA, ArenaLayout, Relocation, without_collecting
from rushlight._engine.trace.passes.simplify import fold, once, shared
from rushlight._engine.trace.passes.verify import sources, unmoved, verify
from rushlight._engine.trace.program import Output, needed
from rushlight._engine.trace.recorder import Array, Entry, root, roots
from rushlight._engine.trace.trace import Node, Spec, TraceEntry, placed, specs
from rushlight._engine.trace.updates import is_update

# Matched this often, a segment is compiled.
_OFTEN = 2
# So many runs are the first ones, at each of which is asked whether more could be bound.
_EARLY = 32
# For inputs of so many bytes that do not stay where they are a program waits a while before it is compiled.
_MUCH = 1 << 20
# Inputs whose memory has moved so often are copied in.
_RESTLESS = 3
# Results of fewer bytes are copied out.
_FEW = 1 << 15
# What the path's ops made is numbered from here on; below are places.
_MADE = 1 << 32
# Programs at so many sizes are compared with their entries; others that run the same loops are not.
_PROOFS = 2
# One program runs at a time: they share the arena.
RUNNING = threading.RLock()


class Path:
    """The entries of a path, and where the tensors at its places lie."""

    @without_collecting
    def __init__(self, node: Node) -> None:
        self.entries: list[TraceEntry] = []
        self.sizes: dict[int, int] = {}
        self.specs: dict[int, Spec] = {}
        # Places of operands that came in, each with memory of its own; those that are written to, and those
        # that an optimizer steps, which is the last that happens.
        self.inputs: list[int] = []
        self.written: set[int] = set()
        self.stepped: set[int] = set()
        for n in node.path():
            self._enter(n)
            self._follow(n)

    def _enter(self, n: Node) -> None:
        for place, of, shape, strides, share in n.entered:
            if share is None:
                self.inputs.append(place)
                self.specs[place] = Spec(place, 0, shape, strides, of.np)
            else:
                self.specs[place] = Spec(share, 0, shape, strides, of.np)

    def _follow(self, n: Node) -> None:
        step: Any = n.step
        base = _MADE + len(self.sizes)
        self.sizes.update({base + j: size for j, size in enumerate(step.sizes)})

        def found(spec: Spec) -> Spec:
            if spec.memory >= 0:
                return Spec(base + spec.memory, *spec[1:])
            given = self.specs[n.args[~spec.memory]]
            return Spec(given.memory, given.offset + spec.offset, *spec[2:])

        for t in step.entries:
            self.entries.append(
                TraceEntry(t.kind, t.function, placed(t.operands, found), tuple(map(found, t.outs)), t.where)
            )
        for i, r in enumerate(step.results):
            self.specs[n.first + i] = self.specs[n.args[r.given]] if r.given >= 0 else found(r.spec)
        written = {self.specs[n.args[k]].memory for k in step.writes} - self.sizes.keys()
        if any(map(is_update, step.entries)):
            self.stepped |= written
        else:
            self.written |= written

    def cut(self, wanted: Sequence[int]) -> list[TraceEntry]:
        """The entries that wanted places and effects need."""
        memory = {self.specs[p].memory for p in wanted}
        kept = []
        for t in reversed(self.entries):
            if (
                t.kind == "run"
                and t.outs
                and not any(o.memory in memory for o in t.outs)
                and not Entry(t.kind, t.function, t.operands).draws
            ):
                continue
            kept.append(t)
            memory.update(s.memory for s in specs(t.operands))
        return kept[::-1]


def seen(spec: Spec, a: Array, of: Spec | None = None) -> Array:
    """The array at `spec`, of memory in which `a` lies as `of` says (at its beginning)."""
    if (
        a.shape == spec.shape
        and a.strides == spec.strides
        and a.dtype == spec.dtype
        and spec.offset == (0 if of is None else of.offset)
    ):
        return a
    flat = owner(a).view(np.uint8)
    start = pointer(a) - pointer(flat) + spec.offset - (0 if of is None else of.offset)
    return np.ndarray(spec.shape, spec.dtype, flat, start, spec.strides)


class SegmentInterpreter:
    """The segment entry by entry, each result in memory of its own: what the first calls run."""

    def __init__(self, path: Path, wanted: Sequence[int]) -> None:
        self.path, self.wanted = path, wanted
        self.entries = path.cut(wanted)
        last: dict[int, int] = {}
        for i, t in enumerate(self.entries):
            last.update({s.memory: i for s in (*specs(t.operands), *t.outs)})
        kept = {path.specs[p].memory for p in wanted}
        self.dies: list[list[int]] = [[] for _ in self.entries]
        for memory, i in last.items():
            if memory >= _MADE and memory not in kept:
                self.dies[i].append(memory)

    def run(self, arrays: dict[int, Array], whole: bool = True) -> list[Array]:
        """The arrays at the wanted places; `arrays`: what lies at the places that came in. whole: optimizers
        step, too.
        """
        held: dict[int, tuple[Array, Spec | None]] = {p: (arrays[p], None) for p in self.path.inputs}

        def at(spec: Spec) -> Array:
            return seen(spec, *held[spec.memory])

        token = hush()
        try:
            for t, dies in zip(self.entries, self.dies, strict=True):
                if not whole and is_update(t):
                    continue
                found = t.function(*placed(t.operands, at))
                if t.kind == "run":
                    self._keep(t.outs, found, held)
                for memory in dies:
                    held.pop(memory, None)
        finally:
            restore(token)
        return [at(self.path.specs[p]) for p in self.wanted]

    def _keep(self, outs: tuple[Spec, ...], found: Any, held: dict[int, tuple[Array, Spec | None]]) -> None:
        many = found if isinstance(found, (tuple, list)) else (found,)
        made = [np.asarray(a) for a in many if isinstance(a, (np.ndarray, np.generic))]
        for spec, a in zip(outs, made, strict=len(outs) > 1):
            own = held.get(spec.memory)
            if (
                own is None
                and a.base is None
                and a.shape == spec.shape
                and a.strides == spec.strides
                and (not spec.offset and a.nbytes == self.path.sizes[spec.memory])
            ):
                held[spec.memory] = a, spec
                continue
            if own is None:
                buffer = np.empty(self.path.sizes[spec.memory], np.uint8)
                own = held[spec.memory] = (
                    buffer,
                    Spec(spec.memory, 0, buffer.shape, buffer.strides, buffer.dtype),
                )
            seen(spec, *own)[...] = a


class Before:
    """The way back to how all was before the entries ran, but for optimizers' steps."""

    def __init__(
        self, plain: SegmentInterpreter, arrays: dict[int, Array], entries: Sequence[TraceEntry]
    ) -> None:
        self.plain = plain
        self._written = [arrays[p] for p in plain.path.inputs if p in plain.path.written]
        self._before = [a.copy() for a in self._written]
        draws = any(Entry(t.kind, t.function, t.operands).draws for t in entries)
        self._drawn = default_engine().get_state() if draws else None

    def again(self) -> None:
        """Let all be as it was before."""
        for a, values in zip(self._written, self._before, strict=True):
            a[...] = values
        if self._drawn is not None:
            default_engine().set_state(self._drawn)

    def left(self, results: list[Array]) -> bool:
        """Whether these results may be what the entries leave; nothing is known of that."""
        return True


class Expected(Before):
    """What the entries leave when they run one by one, but for optimizers' steps, and the way back.

    It is found before the program has memory of its own: what these runs free is given back first. Of results
    only digests are kept, since together they may be larger than all else. Of memory that begins as it was
    found (torch.empty) only what is written to is compared.
    """

    def __init__(
        self, plain: SegmentInterpreter, arrays: dict[int, Array], entries: Sequence[TraceEntry]
    ) -> None:
        super().__init__(plain, arrays, entries)
        unset = {o.memory for t in entries for o in t.outs if _leaves_unset(t.function)}
        self._set: dict[int, list[Spec]] = {memory: [] for memory in unset}
        for t in entries:
            for target in _written(t) if unset and t.kind == "write" else ():
                if target.memory in unset:
                    self._set[target.memory].append(target)
        self._after = self._seen(plain.run(arrays, False))
        memory_pages.give_back()

    def left(self, results: list[Array]) -> bool:
        """Whether these results, and all that may be written to, are what the entries left."""
        return self._seen(results) == self._after

    def _seen(self, results: list[Array]) -> list[Any]:
        found: list[Array] = []
        for p, a in zip(self.plain.wanted, results, strict=True):
            spec = self.plain.path.specs[p]
            found += [seen(s, a, spec) for s in self._set[spec.memory]] if spec.memory in self._set else [a]
        return [*map(_digest, found + self._written), _state(self._drawn)]


class Compiled:
    """The segment compiled, for inputs that lie as those of the call that it is made in.

    arrays: what came in, by place. stable: places whose memory is bound. copied: memory of results that are
    to be copied out. proven: at which sizes programs like this one left what their entries left, by what
    _compile gives. results: the wanted arrays of the call that made it, after which all is as eager.
    """

    @without_collecting
    def __init__(
        self,
        plain: SegmentInterpreter,
        arrays: dict[int, Array],
        stable: set[int],
        copied: set[int],
        proven: dict[Any, set[Any]],
    ) -> None:
        path, wanted = plain.path, plain.wanted
        self.path, self.wanted = path, wanted
        self.fits, self.failed = False, ""
        recorded = path.cut(wanted)
        # Where nothing is proven yet, before there is memory for the program.
        expected = None if proven else Expected(plain, arrays, recorded)
        self.inputs: list[tuple[int, Array, int, bool]] = []
        held: dict[int, Array] = {}
        for p in path.inputs:
            self._bind(p, arrays[p], p in stable, held)
        # What is copied in and out.
        self._loaded = [(own, p) for p, own, _, bound in self.inputs if not bound]
        self._stored = [(own, p) for own, p in self._loaded if p in path.written | path.stepped]
        # Places whose memory is bound, and where; the arrays that lay there at the last run.
        self._bound = [(p, at) for p, _, at, bound in self.inputs if bound]
        self._places = [p for p, _ in self._bound]
        self._last: list[Callable[[], Any]] = [_nobody] * len(self._bound)
        self._specs = [path.specs[p] for p in wanted]
        made = {spec.memory for spec in self._specs if spec.memory >= _MADE}
        self.outputs = [
            Output(
                m,
                path.sizes[m],
                path.sizes[m] >= _FEW and m not in copied,
                [s for s in self._specs if s.memory == m],
            )
            for m in sorted(made)
        ]
        held.update({o.memory: o.flat for o in self.outputs})
        # Wanted arrays; of those that were made, the number of the output and that among its arrays.
        number = {spec: (i, k) for i, o in enumerate(self.outputs) for k, spec in enumerate(o.specs)}
        self._found_at = [(spec, number.get(spec)) for spec in self._specs]
        self._plain = self._wholes()
        entries = self._entries(recorded, held)
        # Those that are handed out as they are.
        self.lent = [o for o in self.outputs if o.kept]
        # Bytes that are copied in at each run.
        self.copied = sum(own.nbytes for _, own, _, stable in self.inputs if not stable)
        loops = self._prepared(entries, arrays)
        if self.failed:
            if expected is not None:
                expected.again()
            self.results = plain.run(arrays)
            return
        known, sizes = proven.setdefault(loops, set()), tuple([a.shape for _, a, _, _ in self.inputs])
        trusted = sizes in known or len(known) >= _PROOFS
        before = expected or (Before if trusted else Expected)(plain, arrays, recorded)
        self._compared(before, arrays)
        if self.fits:
            known.add(sizes)

    def _entries(self, recorded: Sequence[TraceEntry], held: dict[int, Array]) -> list[Entry]:
        """The recorded entries on memory; held: that of inputs and results."""
        used = {s.memory for t in recorded for s in (*specs(t.operands), *t.outs)}
        # What is made meanwhile gets memory to be told apart by, and nothing is computed into it. Lowering
        # runs some entries all the same, to see which kernel they call: integers may be places to read at.
        numbers = {s.memory for t in recorded for s in (*specs(t.operands), *t.outs) if s.dtype.kind in "iu"}
        held.update({m: np.empty(self.path.sizes[m], np.uint8) for m in used - held.keys()})
        for m in numbers - {*self.path.inputs}:
            held[m][...] = 0
        self._held = held

        def at(spec: Spec) -> Array:
            a = held[spec.memory]
            if a.dtype != np.uint8 or a.ndim != 1 or a.strides != (1,):
                a = owner(a).view(np.uint8)
            start = pointer(held[spec.memory]) - pointer(a) + spec.offset
            return np.ndarray(spec.shape, spec.dtype, a, start, spec.strides)

        return [
            Entry(t.kind, t.function, placed(t.operands, at), tuple(map(at, t.outs)), t.where)
            for t in recorded
        ]

    def _prepared(self, entries: list[Entry], arrays: dict[int, Array]) -> tuple[Any, ...]:
        """Compile the entries, as _compile does; `failed` says why not."""
        token = hush()
        try:
            self._load(arrays)
            return self._compile(entries)
        except Exception as error:  # the call goes on, with what the entries compute
            if settings.verify:
                raise
            self.failed = f"{type(error).__name__}: {error}"
            return ()
        finally:
            restore(token)

    def _wholes(self) -> list[Array] | None:
        """Where each wanted array is a copy of one output: these outputs."""
        found = [at and self.outputs[at[0]]._whole for _, at in self._found_at]
        copies = not any(o.kept for o in self.outputs) and len({id(a) for a in found}) == len(found)
        arrays = [a for a in found if a is not None]
        return arrays if copies and len(arrays) == len(found) else None

    def _bind(self, p: int, a: Array, stable: bool, held: dict[int, Array]) -> None:
        low, high = np.lib.array_utils.byte_bounds(a)
        if stable:
            # Not an array of the tensor's: nobody is to see that its memory is held, nor is it.
            memory: Any = (ctypes.c_uint8 * max(high - low, 1)).from_address(low)
            flat = np.frombuffer(memory, np.uint8)
        else:
            flat = np.empty(max(high - low, 1), np.uint8)
        own = np.ndarray(a.shape, a.dtype, flat, pointer(a) - low, a.strides)
        held[p] = own
        self.inputs.append((p, own, pointer(own), stable))

    def _compared(self, expected: Before, arrays: dict[int, Array]) -> None:
        """See that the program leaves what the entries leave one by one."""
        token = hush()
        try:
            expected.again()
            self._load(arrays)
            self._play(self._compared_steps)
            self._store(arrays)
            self.results = self.handed(arrays)
            self.fits = expected.left(self.results)
        except Exception as error:
            if settings.verify:
                raise
            self.failed = f"{type(error).__name__}: {error}"
        finally:
            restore(token)
        if not self.fits:
            expected.again()
            self.results = expected.plain.run(arrays)
            return
        # These are eager's own kernels, on much memory, of which no copy is made.
        self._play(self._updates)
        self._store(arrays)

    def _compile(self, entries: list[Entry]) -> tuple[Any, ...]:
        """Make the steps of a run; what these are, but for the memory that they work on."""
        output = [o.flat for o in self.outputs]
        known = {id(r): r for r in map(root, self._held.values())}
        fusing = Fusing(known)

        def verified(after: str, now: list[Entry], before: Any = None) -> None:
            if settings.verify:
                verify(now, after, before)

        verified("recorded", entries)
        _compute_constants(entries, known)
        (recorded,), self.constants, _ = fold([entries], output, known)
        verified("constants", recorded, entries)
        lower = fusing.lower(recorded)
        verified("lowered", lower, recorded)
        single = once(lower, output)
        verified("once", single, lower)
        apart, single = single, shared(single, output)
        verified("shared", single, apart)
        self.entries = fusing.fuse(needed(single, output), output)
        verified("fused", self.entries, single)
        kept = roots([o.flat for o in self.outputs])
        before = sources(self.entries) if settings.verify else []
        self.plan = ArenaLayout(self.entries, kept, {id(root(o.flat)): o.flat for o in self.lent})
        places = {key: (ARENA.at(self.plan.size), place) for key, place in self.plan.places.items()}
        moved = Relocation({**places, **self.plan.borrowed})
        for e in self.entries:
            e.move(moved)
        if settings.verify:
            unmoved(before, self.entries, "memory plan")
        scratch = Scratch(ARENA.at(self.plan.size)[self.plan.size :])
        steps = stage_planning.steps(self.entries, scratch)
        self.replay = stage_planning.together(steps)
        sorts: dict[bool, list[Any]] = {False: [], True: []}
        for e, step in zip(self.entries, steps, strict=True):
            sorts[is_update(e)].append(step)
        self._compared_steps, self._updates = map(stage_planning.together, sorts.values())
        # Whether it is one native call, which asks nothing of Python.
        self.native = len(self.replay) == 1 and isinstance(self.replay[0], Run)
        own = {m for m in self._held if m < _MADE}
        self._held = {m: self._held[m] for m in own} | {o.memory: o.flat for o in self.outputs}
        return stage_planning.does(self.entries, steps)

    # --- runs ------------------------------------------------------------------------------------------

    def moved(self, arrays: dict[int, Array]) -> set[int]:
        """Places whose memory was bound, and lies elsewhere now."""
        found, last = set[int](), self._last
        if looks().led(last, self._places, arrays):  # as is usual
            return found
        for k, (p, at) in enumerate(self._bound):
            a = arrays[p]
            if last[k]() is not a:
                lies = pointer(a) == at
                last[k] = weakref.ref(a) if lies else _nobody
                if not lies:
                    found.add(p)
        return found

    def run(self, arrays: dict[int, Array]) -> list[Array]:
        """The arrays at the wanted places."""
        self._load(arrays)
        token = hush()
        try:
            self._play(self.replay)
        finally:
            restore(token)
        self._store(arrays)
        return self.handed(arrays)

    def at_once(
        self, arrays: dict[int, Array], aside: Callable[[], AbstractContextManager[Any]]
    ) -> list[Array]:
        """The same of a native program; what it needs Python for, if anything, is done in aside()."""
        self._load(arrays)
        run: Any = self.replay[0]
        done = run.begin()
        if done < run.count:
            with aside():
                token = hush()
                try:
                    run.resume(done)
                finally:
                    restore(token)
        self._store(arrays)
        return self.handed(arrays)

    def _load(self, arrays: dict[int, Array]) -> None:
        for own, p in self._loaded:
            own[...] = arrays[p]

    def _store(self, arrays: dict[int, Array]) -> None:
        for own, p in self._stored:
            arrays[p][...] = own

    def _play(self, steps: Sequence[Callable[[], Any]]) -> None:
        for step in steps:
            step()

    def handed(self, arrays: dict[int, Array]) -> list[Array]:
        """What the last run left at the wanted places."""
        if self._plain is not None:
            return looks().copies(self._plain)
        given = [o.give() for o in self.outputs]
        return [
            seen(spec, arrays[spec.memory]) if at is None else given[at[0]][at[1]]
            for spec, at in self._found_at
        ]


class Findings:
    """What is known about the inputs of a segment, at whatever sizes: how often it has run, what came in last
    and where that lay, and which places' memory has been bound, None for not yet. proven: at which sizes
    programs left what their entries left, by what they run.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.last: dict[int, tuple[Any, int]] = {}
        self.bound: set[int] | None = None
        self.proven: dict[Any, set[Any]] = {}


class Program:
    """A segment for a set of wanted results: entry by entry at first, then compiled."""

    def __init__(self, path: Path, wanted: tuple[int, ...]) -> None:
        self.path, self.plain = path, SegmentInterpreter(path, wanted)
        self.wanted, self.runs = wanted, 0
        self.made: Compiled | None = None
        self.failed = ""
        self.copied: set[int] = set()
        self.found = Findings()
        # How often places' memory was bound, and lay elsewhere then.
        self.moved: Counter[int] = Counter()
        self.crowded = 0
        # For how many runs what is copied in has lain still, and how often it was bound for that.
        self.still = self.bound_again = 0
        # At which run it was compiled, 0 for not yet.
        self.bound_at = 0

    def at_once(
        self, arrays: dict[int, Array], aside: Callable[[], AbstractContextManager[Any]]
    ) -> list[Array] | None:
        """The arrays at the wanted places, if a native program is there that fits; aside(): see Compiled."""
        made = self.made
        if (
            made is None
            or not made.native
            or made.copied >= _FEW
            or made.moved(arrays)
            or (made.lent and any([o.busy for o in made.lent]))
        ):
            return None
        self.runs += 1
        return made.at_once(arrays, aside)

    def run(self, arrays: dict[int, Array], region: Any) -> list[Array]:
        """The arrays at the wanted places."""
        self.runs += 1
        if self.made is not None:
            moved = self.made.moved(arrays)
            busy = {o.memory for o in self.made.lent if o.busy}
            if not moved and not busy and not self._settled(arrays, region):
                return self.made.run(arrays)
            region.warm = False
            self.moved.update(moved)
            if busy:
                self.crowded += 1
                if self.crowded > 2:
                    self.copied |= busy
            if moved or self.crowded > 2 or not busy:
                self.made, self.crowded = None, 0
        worth = self.made is None and not self.failed and len(self.plain.entries) > 1
        region.warm = region.warm and not worth
        found = self.found
        found.runs += 1
        # Elsewhere, it was bound at other sizes: so it is here, unless it moves.
        elsewhere = found.bound if self.bound_at == 0 else None
        if worth and (elsewhere is not None or (found.runs > _OFTEN and self._at_rest(arrays, region))):
            stable = {
                p
                for p in self.path.inputs
                if self.moved[p] < _RESTLESS
                and (self._stays(p, arrays[p], region) if elsewhere is None else p in elsewhere)
            }
            self.bound_at, found.bound = self.runs, stable
            with at_once():
                self.made = Compiled(self.plain, arrays, stable, self.copied, found.proven)
            memory_pages.give_back()  # what compiling has freed
            region.trace.compiled += 1
            results, self.made.results = self.made.results, []
            if not self.made.fits:
                self.failed = self.made.failed or "it gave other bits than its entries"
                self.made = None
                region.note(f"a segment of {len(self.plain.entries)} entries is not compiled: {self.failed}")
            else:
                region.trace.made.add(self.made)
            return results
        found.last = self._lie(arrays, region)
        return self.plain.run(arrays)

    def _lie(self, arrays: dict[int, Array], region: Any) -> dict[int, tuple[Any, int]]:
        """Whose memory the inputs are, and where it lies."""
        return {p: (region.inputs[p][0], pointer(arrays[p])) for p in self.path.inputs}

    def _settled(self, arrays: dict[int, Array], region: Any) -> bool:
        """Whether much is copied in that could be bound, as it has lain at one place for some runs now.

        What another program hands out lies anywhere until that is compiled.
        """
        made: Any = self.made
        if made.copied < _FEW or self.bound_again >= _RESTLESS:
            return False
        if self.runs > _EARLY and self.runs % _EARLY > _OFTEN:  # now and then, for some runs in a row
            return False
        still = sum(
            arrays[p].nbytes
            for p, _, _, stable in made.inputs
            if not stable and self.moved[p] < _RESTLESS and self._stays(p, arrays[p], region)
        )
        self.found.last = self._lie(arrays, region)
        self.still = self.still + 1 if still >= _FEW else 0
        if self.still <= _OFTEN:
            return False
        self.still = 0
        self.bound_again += 1
        return True

    def _at_rest(self, arrays: dict[int, Array], region: Any) -> bool:
        """Whether what came in stays where it is, as it does once the program that makes it is compiled, but
        for a little; or has moved often.
        """
        if self.runs > 2 * _OFTEN + 2:
            return True
        moving = [arrays[p] for p in self.path.inputs if not self._stays(p, arrays[p], region)]
        return not any(map(_programs, moving)) and sum(a.nbytes for a in moving) < _MUCH

    def _stays(self, p: int, a: Array, region: Any) -> bool:
        """Whether memory is likely to be the same at the next runs: a parameter's, or a program's."""
        ref, at = self.found.last.get(p, (None, 0))
        t = region.inputs[p][0]()
        if any([t is one for one in region.ones.values()]):  # which is made anew now and then
            return False
        return at == pointer(a) and (
            _programs(a) or (t is not None and (t.__class__ is not Tensor or ref() is t))
        )


def _nobody() -> None:
    """What stands for a dead reference."""


def _compute_constants(entries: Sequence[Entry], known: Container[int]) -> None:
    """Run the entries that depend on nothing; known: memory that holds no constants."""
    made: set[int] = set()
    for e in entries:
        if e.kind == "run" and not e.draws and not any(key in known and key not in made for key in e.reads()):
            stage_planning.prepared(e)()
            made |= roots(e.outs)


def _written(t: TraceEntry) -> list[Spec]:
    """What an entry may write to, of its operands."""
    ends = [v for v in (t.operands[0], t.operands[-1]) if isinstance(v, Spec)]
    return ends[:1] or [*specs(t.operands)]


def _leaves_unset(function: Any) -> bool:
    """Whether an entry makes memory and writes nothing there."""
    filled = getattr(function, "__self__", None)
    return isinstance(filled, Fill) and filled.value is None


def _digest(a: Array) -> bytes:
    """What tells the bits of arrays of one layout apart."""
    dense: Any = a.reshape(-1).view(np.uint8) if a.flags.c_contiguous else a.tobytes()
    return sha256(dense).digest()


def _programs(a: Array) -> bool:
    """Whether an array is memory that a program hands out."""
    return not isinstance(root(a), np.ndarray)


def _state(drawn: Any) -> bytes | None:
    """The generator's state, for a program that draws."""
    return None if drawn is None else default_engine().get_state().tobytes()
