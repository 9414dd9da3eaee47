"""Gradients computed where they stay: the step that makes a leaf's gradient writes it there itself.

That needs a gradient that is nobody else's, and a leaf that has none by then at every replay: one whose
optimizer's zero_grad() the program itself calls first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.lazy import our_module
from rushlight._engine.trace.recorder import Entry, add_gradient, root, roots, take


def straight(entries: Sequence[Entry], output: Any) -> list[Entry]:
    """The entries with copies of gradients left out; leaves then only take what is there."""
    uses = Counter(memory for e in entries for memory in e.reads() | roots(e.outs))
    uses.update(roots(output))
    makers = {id(root(o)): (e, k) for e in entries if e.kind == "run" for k, o in enumerate(e.outs)}
    emptied: set[int] = set()
    kept: list[Entry] = []
    for e in entries:
        if e.kind == "call" and e.function is add_gradient:
            leaf, grad, own = e.operands
            memory = id(root(grad._array))
            maker, k = makers.get(memory, (None, 0))
            if (
                id(leaf) in emptied
                and maker is not None
                and uses[memory] == 2
                and (_alike(maker.outs[k], own._array) and pointer(grad._array) == pointer(maker.outs[k]))
            ):
                maker.outs = (*maker.outs[:k], own._array.reshape(maker.outs[k].shape), *maker.outs[k + 1 :])
                e = _joined(kept, Entry("call", take, ([(leaf, own, own._array)],), (), e.where))
            emptied.discard(id(leaf))
        elif e.kind == "call":
            emptied |= emptied_by(e)
        if e is not None:
            kept.append(e)
    return kept


def is_about_leaves(entry: Entry) -> bool:
    """Whether an entry only gives leaves gradients that steps have computed in place, or takes them away."""
    return entry.kind == "call" and (entry.function is take or bool(emptied_by(entry)))


def guard(guards: Any, entries: Sequence[Entry]) -> None:
    """Let calls whose gradients are computed where they stay be known by what their optimizers step."""
    for e in entries:
        if e.kind == "call" and emptied_by(e):
            groups: Any = getattr(e.function, "__self__").param_groups
            guards.counts.append((groups, len(groups)))
            for group in groups:
                guards.facts.append((group, "params", group["params"]))
                guards.counts.append((group["params"], len(group["params"])))


def scaled(entries: Sequence[Entry]) -> set[int]:
    """The gradients' memory, where a GradScaler changes it later on."""
    if not any(our_module(getattr(e.function, "func", None)) == "rushlight.amp.grad_scaler" for e in entries):
        return set()
    return set().union(*[e.reads() for e in entries if e.function in (take, add_gradient)])


def _joined(kept: list[Entry], entry: Entry) -> Any:
    """None if the entry could be added to one before it: to the last, or behind steps that only compute."""
    for before in reversed(kept):
        if before.function is take:
            before.operands[0].extend(entry.operands[0])
            kept.remove(before)
            kept.append(before)
            return None
        if before.kind != "run" and before.function is not add_gradient:
            break
    return entry


def _alike(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and (
        (a.shape == b.shape and a.strides == b.strides)
        or (a.size == b.size and a.flags.c_contiguous and b.flags.c_contiguous)
    )


def emptied_by(entry: Entry) -> set[int]:
    """The leaves that a call of an optimizer's zero_grad() leaves without a gradient."""
    optimizer: Any = getattr(entry.function, "__self__", None)
    if getattr(entry.function, "__name__", "") != "zero_grad" or entry.operands != (True,):
        return set()
    return {id(p) for group in optimizer.param_groups for p in group["params"]}
