"""Recompute or save: cheap results of a forward are computed again where its backward reads them.

torch._functorch.config.activation_memory_budget says how much may be kept, as a share of the bytes that the
backward reads of the forward's results: 1 keeps all, 0 what kernels cannot make again from what lives anyway.
A kernel that is done again stands right before its late reader, where fusion merges the two; its arithmetic
is what it was, so are the bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight._engine.ops.expressions import toposort
from rushlight._engine.trace.passes.gradients import is_about_leaves
from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.passes.memory import Relocation, pinned
from rushlight._engine.trace.recorder import Array, Entry, root, roots


def within(budget: float, parts: Sequence[Sequence[Entry]], output: Any) -> list[list[Entry]]:
    """A program's parts with a share of the forwards' results, `budget`, kept for the backwards.

    Entries of the kind "mark" say where a backward pass begins: what was put behind them stays there.
    output: what is looked at from outside. RuntimeError for a budget that is no share.
    """
    if not 0 <= budget <= 1:
        raise RuntimeError(
            f"The valid ranges for memory budget are 0 <= m <= 1. The provided budget is {budget}"
        )
    if budget == 1:
        return [[e for e in part if e.kind != "mark"] for part in parts]
    ends = [Entry("mark", roots, ()) for _ in parts]
    entries = [e for part, end in zip(parts, ends, strict=True) for e in (*part, end)]
    for mark in [e for e in reversed(entries) if e.kind == "mark"]:
        _keep(budget, entries, entries.index(mark), roots(output))
    cuts = [0, *map(entries.index, ends)]
    return [entries[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]


def _keep(budget: float, entries: list[Entry], mark: int, live: set[int]) -> None:
    """Keep this share of what entries behind a mark read of results before it, as far as kernels can."""
    fixed = live.union(pinned(entries), *[e.reads() for e in entries if e.kind != "run"])
    written = Counter(key for e in entries for key in roots(e.outs))
    made = {
        id(root(o)): root(o)
        for e in entries
        for o in e.outs
        if id(root(o)) not in fixed and isinstance(root(o), np.ndarray) and written[id(root(o))] == 1
    }
    read = roots([e.given for e in entries[mark:]]) & made.keys()
    kernels, size = [], {key: int(made[key].nbytes) for e in entries[:mark] for key in roots(e.outs) & read}
    for e in entries[:mark]:
        saved = sum(size.get(key, 0) for key in roots(e.outs))
        if saved and isinstance(e.function, Kernel) and e.function.form != "full":
            kernels.append((saved / len(toposort(e.function.exprs)), saved, e))
    left = most = sum(size.values())
    for _, saved, e in sorted(kernels, key=lambda found: found[0], reverse=True):
        if left > budget * most and roots(e.outs) <= made.keys() and _again(e, entries, mark, made):
            left -= saved


def _again(e: Entry, entries: list[Entry], mark: int, made: dict[int, Array]) -> bool:
    """Do a kernel again for its readers behind the mark, if what it reads is there anyway, as it was."""
    wanted, read = roots(e.outs), e.reads()
    first = next(i for i, other in enumerate(entries) if i > mark and other.reads() & wanted)
    between = [o for o in entries[entries.index(e) : first] if o.kind != "run" and o.kind != "mark"]
    if not read & made.keys() <= roots([o.given for o in entries[first:]]) or any(
        o.reads() & read or (o.kind == "call" and not (is_about_leaves(o) or read <= made.keys()))
        for o in between
    ):
        return False
    again = Relocation({key: (np.empty(made[key].nbytes, np.uint8), 0) for key in wanted})
    copy = Entry("run", e.function, e.operands, again(e.outs), e.where)
    entries[first:] = [
        copy,
        *[
            Entry(o.kind, o.function, again(o.operands), o.outs, o.where) if o.reads() & wanted else o
            for o in entries[first:]
        ],
    ]
    return True
