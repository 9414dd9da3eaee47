"""A recorded call as a program: prepared calls in order, on memory that stays."""
from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight.autograd.node import AccumulateGrad
from rushlight.base.size import Size
from rushlight.base.quiet import hush, restore
from rushlight.capture import gradients, staged
from rushlight.capture.fusion import Fusing
from rushlight.capture.memory import Plan, Room
from rushlight.capture.recorder import Entry, Recorder, root, roots
from rushlight.capture.regions import CompiledBackward, Traced, versions
from rushlight.tensor.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]


class Part:
    """Entries with what they are given and what they leave behind: a forward, or a backward."""

    def __init__(self, inputs: Sequence[Tensor], entries: Sequence[Entry], output: Any) -> None:
        self.inputs = [t._a for t in inputs]
        self.entries, self.output = list(entries), output
        # What each entry is run by, and the same with native ones in one call.
        self.steps: list[Callable[[], Any]] = []
        self.replay: list[Callable[[], Any]] = []

    def prepare(self) -> None:
        """Decide all that can be decided before a replay."""
        self.steps = staged.steps(self.entries)
        self.replay = staged.together(self.steps)

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


class Program:
    """What a function did, to be done again.

    inputs: the tensors that the recorded call worked on; their memory is the program's own.
    output: what the function gave, a tree of tensors and other values.
    traced: the gradients of tracked results, where the function left a graph behind.
    until: when to stop fusing kernels, by time.perf_counter(); `fused` says whether there was time for it.
    """

    def __init__(self, recorder: Recorder, inputs: Sequence[Tensor], output: Any,
                 traced: Traced | None = None, until: float | None = None) -> None:
        tracked = [] if traced is None else [t for t in leaves(output) if is_tracked(t)]
        self.numbers = {id(t): n for n, t in enumerate(tracked)}
        self.memory = recorder.owned
        self.backward: Part | None = None
        live, owned = output, recorder.owned
        start = Fusing(owned, until)
        if traced is not None:
            found = list(traced.found)
            places = {id(t): place for place, t in enumerate(inputs)}
            # Where gradients go: to a tensor of the function's, or to the argument at a place.
            self.leaves = [(leaf, places.get(id(leaf))) for leaf in traced.leaves]
            later = _needed(traced.recorder.entries, found)
            self.backward = Part(traced.given, start(later, found), found)
            live = (output, [(e.operands, getattr(e.function, "args", ())) for e in self.backward.entries])
        entries = gradients.straight(_needed(recorder.entries, live), live)
        self.forward = Part(inputs, start(entries, live), output)
        self.fused = not start.late
        # Memory of others that a run writes to.
        self.written: list[Array] = []
        self.plan: Plan | None = None
        self._latest: Any = None
        # Held by the thread that replays.
        self.busy = threading.Lock()

    @property
    def entries(self) -> list[Entry]:
        """All of them."""
        return self.forward.entries + ([] if self.backward is None else self.backward.entries)

    @property
    def parts(self) -> list[Part]:
        """The forward, and the backward if there is one."""
        return [self.forward] if self.backward is None else [self.forward, self.backward]

    def settle(self) -> None:
        """Lay results out in memory of the program's own; what the recorded call made is left alone."""
        ends, last, given = {}, -1, []
        for part in self.parts:
            given += [(a, last + 1) for a in part.inputs]
            last += len(part.entries)
            ends.update(dict.fromkeys(roots(part.output), last))
        self.plan = Plan(self.entries, ends, given)
        room = Room(self.plan)
        numbers = {}
        for part in self.parts:
            for e in part.entries:
                e.operands, e.outs = room(e.operands), room(e.outs)
            inputs = {id(a): room(a) for a in part.inputs}
            part.inputs = [inputs[id(a)] for a in part.inputs]

            def moved(t: Tensor, inputs: dict[int, Array] = inputs) -> Tensor:
                made = wrap(inputs[id(t._a)] if id(t._a) in inputs else room(t._a), t._k)
                made._g, made._i = t._g, t._i
                if id(t) in self.numbers:
                    numbers[id(made)] = self.numbers[id(t)]
                return made if made._a is not t._a else t
            part.output = mapped(part.output, moved)
            part.prepare()
        self.numbers = numbers
        own = {id(room.array)} | {id(root(a)) for part in self.parts for a in part.inputs}
        self.written = [a for a in _written(self.entries) if id(root(a)) not in own]
        outputs = roots(self.forward.output)
        self.memory = {key: self.memory[key] for key in outputs & self.memory.keys()} | dict.fromkeys(
            roots(room.array), room.array)

    # --- replays --------------------------------------------------------------------------------------

    @property
    def pending(self) -> bool:
        """Whether the memory is still needed: the last replay's graph has not been walked."""
        node = None if self._latest is None else self._latest()
        return node is not None and node.saved is not None

    def run(self, tensors: Sequence[Tensor], guarded: Sequence[Tensor] = ()) -> Any:
        """The results for these inputs, of the recorded shapes and dtypes."""
        self.forward.run([t._a for t in tensors])
        node = None
        if self.backward is not None:
            ends = [leaf if place is None else tensors[place] for leaf, place in self.leaves]
            node = CompiledBackward(tuple([None if t._g is None else (t._g, t._i) for t in ends]),
                                    (self, guarded, versions(guarded)))
            self._latest = weakref.ref(node)
        return self.results(tensors, node)

    def run_backward(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The leaves' gradients, for those of the tracked results."""
        part: Part = self.backward  # type: ignore[assignment]
        missing = [None] * (len(part.inputs) - len(grads))
        part.run([None if g is None else g._a for g in (*grads, *missing)])
        return [None if t is None else wrap(t._a.copy("K"), t._k) for t in part.output]

    def results(self, tensors: Sequence[Tensor], node: Any = None) -> Any:
        """The output's tree with tensors of its own: a later run does not change them."""
        def fresh(t: Tensor) -> Tensor:
            for own, given in zip(self.forward.inputs, tensors):
                if t._a is own:
                    return given
            if id(root(t._a)) not in self.memory:
                return t
            made = wrap(t._a.copy("K"), t._k)
            number = self.numbers.get(id(t)) if node is not None else None
            # A graph that is not the node's was used up by the call's own backward().
            made._g, made._i = (t._g, t._i) if number is None else (node, number)
            return made
        return mapped(self.forward.output, fresh)


def is_tracked(t: Any) -> bool:
    """Whether a result's graph is still to be walked."""
    return isinstance(t, Tensor) and t._g is not None and (
        t._g.__class__ is not AccumulateGrad and not _walked(t._g))


def _walked(node: Any) -> bool:
    """Whether backward has been through a graph: something in it has been freed."""
    seen, stack = set(), [node]
    while stack:
        node = stack.pop()
        if node.saved is None:
            return True
        if node not in seen:
            seen.add(node)
            stack += [e[0] for e in node.next if e is not None and e[0].__class__ is not AccumulateGrad]
    return False


def mapped(tree: Any, change: Callable[[Tensor], Any]) -> Any:
    """A tree of lists, tuples and dicts with its tensors changed."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(v, change) for v in tree])
    if type(tree) in (tuple, list, Size):
        return type(tree)([mapped(v, change) for v in tree])
    if type(tree) in (dict, OrderedDict):
        return type(tree)((k, mapped(v, change)) for k, v in tree.items())
    return tree


def leaves(tree: Any) -> list[Any]:
    """The values in a tree of lists, tuples and dicts, in order; a program's own kind of these is a value."""
    if type(tree) in (tuple, list, Size) or isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [leaf for v in tree for leaf in leaves(v)]
    if type(tree) in (dict, OrderedDict):
        return [leaf for v in tree.values() for leaf in leaves(v)]
    return [tree]


def _written(entries: Sequence[Entry]) -> list[Array]:
    """Memory that a run changes beside its own results."""
    found: dict[int, Array] = {}
    for e in entries:
        if e.kind == "write":
            for a in leaves(e.operands):
                if isinstance(a, np.ndarray):
                    found[id(a)] = a
    return list(found.values())


def _needed(entries: Sequence[Entry], output: Any) -> list[Entry]:
    """Without entries whose results nothing reads: backwards from the output and from all effects."""
    wanted = roots(output)
    kept: list[Entry] = []
    for e in reversed(entries):
        if e.kind == "run" and not any(id(root(o)) in wanted for o in e.outs) and not e.draws:
            continue
        kept.append(e)
        wanted |= e.reads()
    return kept[::-1]

