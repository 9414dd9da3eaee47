"""A recorded call as a program: prepared calls in order, on memory that stays."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight.base.quiet import hush, restore
from rushlight.capture import gradients
from rushlight.capture.fusion import fused
from rushlight.capture.memory import Plan
from rushlight.capture.prepared import prepared
from rushlight.capture.recorder import Entry, Recorder, root, roots
from rushlight.tensor.tensor import Tensor, wrap

Array = np.ndarray[Any, Any]


class Program:
    """What a function did, to be done again.

    inputs: the tensors that the recorded call worked on; their memory is the program's own.
    output: what the function gave, a tree of tensors and other values.
    """

    def __init__(self, recorder: Recorder, inputs: Sequence[Tensor], output: Any) -> None:
        self.inputs = [t._a for t in inputs]
        self.output = output
        entries = gradients.straight(_needed(recorder.entries, output), output)
        self.entries = fused(entries, output, recorder.owned)
        self.written = _written(self.entries)
        self.steps = [prepared(e) for e in self.entries]
        self.memory = recorder.owned
        self.plan: Plan | None = None

    def settle(self) -> None:
        """Lay the results out in shared memory: what one entry made can no longer be looked at later."""
        self.plan = Plan(self.entries, roots(self.output))
        self.plan.move(self.entries)
        self.memory = {key: self.memory[key] for key in roots(self.output) & self.memory.keys()}
        self.steps = [prepared(e) for e in self.entries]

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """The results for these inputs, of the recorded shapes and dtypes."""
        for own, t in zip(self.inputs, tensors):
            own[...] = t._a
        token = hush()
        try:
            for step in self.steps:
                step()
        finally:
            restore(token)
        return self.results(tensors)

    def results(self, tensors: Sequence[Tensor]) -> Any:
        """The output's tree with tensors of its own: a later run does not change them."""
        def fresh(t: Tensor) -> Tensor:
            for own, given in zip(self.inputs, tensors):
                if t._a is own:
                    return given
            if id(root(t._a)) not in self.memory:
                return t
            made = wrap(t._a.copy("K"), t._k)
            # Its graph was used up by the call's own backward().
            made._g, made._i = t._g, t._i
            return made
        return mapped(self.output, fresh)


def mapped(tree: Any, change: Callable[[Tensor], Any]) -> Any:
    """A tree of lists, tuples and dicts with its tensors changed."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[mapped(v, change) for v in tree])
    if isinstance(tree, (tuple, list)):
        return type(tree)([mapped(v, change) for v in tree])
    if isinstance(tree, dict):
        return type(tree)((k, mapped(v, change)) for k, v in tree.items())
    return tree


def leaves(tree: Any) -> list[Any]:
    """The values in a tree of lists, tuples and dicts, in order."""
    if isinstance(tree, (tuple, list)):
        return [leaf for v in tree for leaf in leaves(v)]
    if isinstance(tree, dict):
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

