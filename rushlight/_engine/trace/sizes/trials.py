"""Whether a program leaves what a recorded call, or an eager one, leaves from the same state on."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rushlight._engine.autograd.engine import grad
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.tensors.generator import default_generator
from rushlight._engine.tensors.gradient import keep_asked
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._engine.trace.guards import Guards
from rushlight._engine.trace.passes import reproduce
from rushlight._engine.trace.passes.gradients import emptied_by, is_about_leaves, scaled
from rushlight._engine.trace.program import Part, Program, Recorded, results_of, tracked_of
from rushlight._engine.trace.recorder import (
    Array,
    Entry,
    Recorder,
    add_gradient,
    gathered,
    paused,
    recording,
    root,
    roots,
    take,
)
from rushlight._engine.trace.regions import generators_of, values_like


class Witness(Recorder):
    """Hears of a call that runs eagerly; the gradients that leaves have when it first calls an optimizer's
    step, or ends.
    """

    def __init__(self, program: Program, given: Sequence[Tensor], known: Sequence[Tensor]) -> None:
        super().__init__(given, known)
        self.found: Any = None
        self.stepped = False
        self._leaves = _leaves(program.forward.entries)
        # By leaf: what it has before, and then.
        self.before, self.after = self._gradients(), dict[int, Array | None]()

    def _gradients(self) -> dict[int, Array | None]:
        held = [getattr(t, "_grad", None) for t in self._leaves]
        return {
            id(t): None if g is None else g._array.copy() for t, g in zip(self._leaves, held, strict=True)
        }

    def hear(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The call."""
        with recording(self):
            self.found = function(*args, **kwargs)
        if not self.stepped:
            self.after = self._gradients()
        return self.found

    def escape(self, what: str, breaks: bool = True) -> None:
        """It is not repeated, so all may happen."""

    def _check(self, values: Sequence[Any]) -> None:
        pass

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What replays do by Python, too."""
        if not self.stepped and _steps(Entry("call", function, args)):
            self.stepped, self.after = True, self._gradients()
        with paused(self):
            return function(*args)

    def accumulate(self, function: Callable[..., Any], node: Any, grad: Tensor, create: bool) -> None:
        """A leaf receives its gradient, as ever."""
        with paused(self):
            function(node, grad, create)


def _leaves(entries: Sequence[Entry]) -> list[Tensor]:
    """The tensors that get gradients before the first step of an optimizer."""
    found: list[Tensor] = []
    for e in entries:
        if e.function is take:
            found += [leaf for leaf, _, _ in e.operands[0]]
        elif e.function is add_gradient:
            found.append(e.operands[0])
        elif _steps(e):
            break
    return found


def _given_to_leaves(entries: Sequence[Entry]) -> list[Array]:
    """The memory of the gradients that leaves are given."""
    taken = [own for e in entries if e.function is take for _, own, _ in e.operands[0]]
    return [own._array for own in (*taken, *[e.operands[2] for e in entries if e.function is add_gradient])]


def _steps(e: Entry) -> bool:
    """Whether an entry calls what is not repeated to be compared: the step of an optimizer."""
    return e.kind == "call" and e.function is not add_gradient and not is_about_leaves(e)


def after_a_step(entries: Sequence[Entry]) -> bool:
    """Whether something is computed once an optimizer has stepped, which is compared with nothing."""
    step = next((k for k, e in enumerate(entries) if _steps(e)), len(entries))
    return any(e.kind != "mark" and not _steps(e) and not is_about_leaves(e) for e in entries[step:])


class Trial:
    """A program's run, to be compared with an eager call of the same arguments from the same state."""

    def __init__(self, program: Program, witness: Witness, tensors: Sequence[Tensor]) -> None:
        self.program, self.witness, self.tensors = program, witness, tensors

    def forward(self, written: Callable[[set[int]], bool]) -> bool:
        """Whether it computes the same, up to the first step of an optimizer. written: whether what the
        program writes to is as the call has left it, of memory by its ids.
        """
        keep_asked()
        part = self.program.forward
        _give(part, [t._array for t in self.tensors])
        gradients, count = dict(self.witness.before), len(part.entries)
        pieces, k = iter(part.replay), 0
        with np.errstate(all="ignore"):
            while k < count:
                if isinstance(part.steps[k], Run):
                    next(pieces)()
                    k = next((i for i in range(k, count) if not isinstance(part.steps[i], Run)), count)
                elif _steps(part.entries[k]):
                    count = k
                else:
                    self._run(part.entries[k], next(pieces), gradients)
                    k += 1
        if (count < len(part.entries)) is not self.witness.stepped:
            return False
        pairs: list[tuple[Array | None, Array | None]] = [
            (self.witness.after[key], own) for key, own in gradients.items()
        ]
        later = [o for e in part.entries[count:] for o in e.outs]
        found, places = results_of(self.witness.found), self.program.laid.places
        for t, own, place in zip(found, results_of(part.output), places, strict=True):
            if t._array.strides != (own._array if place is None else place).strides:
                return False
            if not any(np.may_share_memory(o, own._array) for o in later):
                pairs.append((t._array, own._array))
        done = roots([e.operands for e in part.entries[:count] if e.kind == "write"])
        return all(_same(a, b) for a, b in pairs) and written(done)

    def _run(self, e: Entry, step: Callable[[], Any], gradients: dict[int, Array | None]) -> None:
        """An entry; of one that only hands out gradients, or takes them away, what that leaves."""
        if e.function is take:
            gradients.update({id(leaf): own for leaf, _, own in e.operands[0]})
        elif e.function is add_gradient:
            leaf, given, own = e.operands
            held = gradients[id(leaf)]
            gathered(own._array, given._array, *([] if held is None else [held]))
            gradients[id(leaf)] = own._array
        elif is_about_leaves(e):
            gradients.update(dict.fromkeys(emptied_by(e) & gradients.keys()))
        else:
            step()

    def backward(self) -> bool:
        """Whether the gradients of its results are those that the eager call's graph gives."""
        program, part = self.program, self.program.backward
        tracked = tracked_of(self.witness.found)
        if part is None:
            return not tracked
        given = [
            wrap(values_like(t, order), t._kind) for t, order in zip(tracked, program.orders, strict=True)
        ]
        leaves = [leaf if place is None else self.tensors[place] for leaf, place in program.leaves]
        state = default_generator.engine.get_state()
        try:
            found = grad(tracked, leaves, given, retain_graph=True, allow_unused=True)
        finally:
            default_generator.engine.set_state(state)
        _give(part, [t._array for t in given])
        with np.errstate(all="ignore"):
            for step in part.replay:
                step()
        pairs = zip(found, part.output, strict=True)
        return all(
            (g is None) == (own is None) and (g is None or _same(g._array, own._array)) for g, own in pairs
        )


def _give(part: Part, arrays: Sequence[Array]) -> None:
    for own, a in zip(part.inputs, arrays, strict=True):
        own[...] = a


def _same(a: Array | None, b: Array | None) -> bool:
    """Whether two arrays hold the same bits."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


class State:
    """Memory and random numbers as they were before a call."""

    def __init__(self, guards: Sequence[Guards], program: Program | None) -> None:
        """program: that writes what is to be found again."""
        known = [a for g in guards for _, a, _ in g.tensors]
        arrays = [] if program is None else [*known, *program.written]
        # Memory without elements may be one that NumPy only lets read.
        self.held = [(a, a.copy()) for a in {id(a): a for a in arrays}.values() if a.size]
        drawn = [default_generator, *generators_of(program.entries if program is not None else ())]
        self.random = [(g, g.get_state()) for g in {id(g): g for g in drawn}.values()]

    def knows(self, program: Program) -> bool:
        """Whether all that a program writes to, and draws from, is here."""
        written = [a for a in program.written if a.size]
        return roots(written) <= roots([a for a, _ in self.held]) and all(
            any(g is v for v, _ in self.random) for g in generators_of(program.entries)
        )

    def equal(self, trial: Trial) -> bool:
        """Whether a program leaves what an eager call has left, from the same state on. One that fails does
        not.
        """
        # Leaves may hold these: programs at other sizes have given them.
        gradients = _given_to_leaves(trial.program.forward.entries)
        with self._again(gradients) as (after, drawn):

            def written(memory: set[int]) -> bool:
                """Whether memory that the program has written to is as the call left it."""
                return all(a.tobytes() == values.tobytes() for a, values in after if id(root(a)) in memory)

            try:
                alike = trial.forward(written)
                steps = trial.witness.stepped
                same = steps or all(np.array_equal(g.get_state()._array, s._array) for g, s in drawn)
                return alike and same and trial.backward()
            except Exception:  # nothing is known of the program yet
                return False

    @contextmanager
    def _again(self, beside: Sequence[Array] = ()) -> Iterator[tuple[Any, Any]]:
        """As before the call for a while; what has been since: (memory, values) and (generator, state).

        beside: further memory that is to be afterwards what it is.
        """
        after = [(a, a.copy()) for a, _ in self.held]
        others = [(a, a.copy()) for a in beside]
        drawn = [(g, g.get_state()) for g, _ in self.random]
        try:
            for a, values in self.held:
                a[...] = values
            for g, state in self.random:
                g.set_state(state)
            yield after, drawn
        finally:
            for a, values in (*after, *others):
                a[...] = values
            for g, state in drawn:
                g.set_state(state)

    def difference(self, program: Program, second: Recorded, tensors: list[Tensor], write: bool) -> str:
        """How the program's results differ from the second record's; empty if they do not."""
        if program.names != second.names:
            return "two calls with arguments of one kind did different things"
        if [a.tobytes() for a in program.constants] != [a.tobytes() for a in second.constants]:
            return "what seemed to be constant depends on something that cannot be repeated"
        keep_asked()
        with self._again() as (after, _):
            given = [[t._array for t in tensors], *[p.inputs for p in second.parts[1:]]]
            for part, other, arrays in zip(program.parts, second.parts, given, strict=True):
                _give(part, arrays)
                why = _compared(part, other, second.known, write)
                if why:
                    return why
            if not any(e.kind == "call" for e in program.entries) and any(
                a.tobytes() != values.tobytes() for a, values in after
            ):
                return "what it leaves in buffers or variables depends on something that cannot be repeated"
            return ""


def _compared(part: Part, other: Any, known: Container[int], write: bool) -> str:
    """How a part's results differ from another record's, up to the first step of an optimizer.

    Memory that is written to later is looked at after the last write: the record has no earlier state.
    """
    last = {key: i for i, e in enumerate(other.entries) if e.kind == "write" for key in e.reads()}
    changed = scaled(other.entries)
    due: dict[int, list[tuple[Entry, Any, Any]]] = {}
    for i, (entry, step, second) in enumerate(zip(part.entries, part.steps, other.entries, strict=True)):
        if is_about_leaves(entry):
            continue  # who holds a gradient; the leaves are the second call's now
        if entry.kind == "call":
            return ""
        with np.errstate(all="ignore"):
            step()
        for out, values in zip(entry.outs, second.outs, strict=True):
            if id(root(values)) in changed or id(root(values)) not in known:
                continue
            due.setdefault(max(i, last.get(id(root(values)), i)), []).append((entry, out, values))
        for made, out, values in due.pop(i, ()):
            if out.tobytes() != values.tobytes():
                script = reproduce.write(made, second.outs) if write else ""
                return f"{made.name} at {made.where} depends on something that cannot be repeated" + (
                    f", or its kernel is wrong: {script} shows the difference" if script else ""
                )
    return ""
