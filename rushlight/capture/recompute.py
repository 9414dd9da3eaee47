"""Recompute or save: cheap results of a forward are computed again where its backward reads them.

torch._functorch.config.activation_memory_budget says how much may be kept, as a share of the bytes that the
backward reads of the forward's results: 1 keeps all, 0 what kernels cannot make again from what lives anyway.
A kernel that is done again stands right before its late reader, where fusion merges the two; its arithmetic
is what it was, so are the bits.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight.capture.gradients import is_about_leaves
from rushlight.capture.kernelnode import Kernel
from rushlight.capture.memory import Moved, pinned
from rushlight.capture.recorder import Entry, root, roots
from rushlight.ops.rowexpr import COSTLY
from rushlight.ops.scalar import toposort


def within(budget: float, parts: Sequence[Sequence[Entry]], output: Any) -> list[list[Entry]]:
    """A program's parts with a share of the forwards' results, `budget`, kept for the backwards.

    Entries of the kind "mark" say where a walk of a graph begins: what was put behind them stays there. output:
    what is looked at from outside. RuntimeError for a budget that is no share.
    """
    if not 0 <= budget <= 1:
        raise RuntimeError(f"The valid ranges for memory budget are 0 <= m <= 1. The provided budget is {budget}")
    if budget == 1:
        return [[e for e in part if e.kind != "mark"] for part in parts]
    ends = [Entry("mark", np.copy, ()) for _ in parts]
    entries = [e for part, end in zip(parts, ends, strict=True) for e in (*part, end)]
    for mark in [e for e in reversed(entries) if e.kind == "mark"]:
        entries = _Saved(entries, entries.index(mark), roots(output)).kept(budget)
    cuts = [0, *map(entries.index, ends)]
    return [entries[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]


class _Saved:
    """What the entries behind a place read of results that were made before it."""

    def __init__(self, entries: Sequence[Entry], mark: int, live: set[int]) -> None:
        self.entries, self.mark = list(entries), mark
        fixed = live | pinned(entries) | set().union(*[e.reads() for e in entries if e.kind != "run"])
        self.made = {key: root(o) for e in entries if e.kind == "run" for o in e.outs
                     for key in (id(root(o)),) if key not in fixed and isinstance(root(o), np.ndarray)}
        early = set().union(*[roots(e.outs) for e in entries[:mark]])
        late = set().union(*[e.reads() for e in entries[mark:]])
        self.saved = early & late & self.made.keys()

    def kept(self, budget: float) -> list[Entry]:
        """The entries when no more than this share is kept, as far as kernels can do without."""
        size = {key: int(self.made[key].nbytes) for key in self.saved}
        left, most = sum(size.values()), budget * sum(size.values())

        def gain(e: Entry) -> float:
            work = sum(10 if n.op in COSTLY else 1 for n in toposort(e.function.exprs))  # type: ignore[attr-defined]
            return sum(size.get(key, 0) for key in roots(e.outs)) / work
        kernels = [e for e in self.entries[:self.mark] if isinstance(e.function, Kernel) and (
            e.function.form != "full" and not e.inner and roots(e.outs) & self.saved)]
        for e in sorted(kernels, key=gain, reverse=True):
            if left > most and self._again(e):
                left -= sum(size.get(key, 0) for key in roots(e.outs))
        return self.entries

    def _again(self, e: Entry) -> bool:
        """Do a kernel again for its late readers, if what it reads is still there."""
        wanted = roots(e.outs)
        first = next(i for i, other in enumerate(self.entries) if i > self.mark and other.reads() & wanted)
        if not (wanted <= self.made.keys() and self._lasts(e.reads(), self.entries.index(e), first)):
            return False
        again = Moved({key: (np.empty(self.made[key].nbytes, np.uint8), 0) for key in wanted})
        made = Entry("run", e.function, e.operands, again(e.outs), e.where)
        for o, copy in zip(e.outs, made.outs, strict=True):
            copy[...] = o  # what a record of another call is compared with
        self.entries[first:] = [made, *[Entry(o.kind, o.function, again(o.operands), o.outs, o.where, o.inner)
                                        if o.reads() & wanted else o for o in self.entries[first:]]]
        return True

    def _lasts(self, read: set[int], start: int, end: int) -> bool:
        """Whether memory holds at the entry `end` what it did at `start`, and would do so anyway."""
        for other in self.entries[start + 1:end]:
            if other.kind != "run" and (other.reads() & read or other.kind == "call" and not (
                    is_about_leaves(other) or read <= self.made.keys())):
                return False
        needed = set().union(*[o.reads() for o in self.entries[end:]])
        return read & self.made.keys() <= needed

