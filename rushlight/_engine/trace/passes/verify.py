"""The graph is verified after each pass: recorded, constants, lowered, once, recompute, fused,
memory plan.

Kernels must fit their arrays, and what is read must have been made before. A pass must leave each result
and each effect computed from the same values of the same memory: so nothing has moved past a write. Where
results come to share memory, each operand must still hold what the same entry wrote there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.meaning import InvalidIR
from rushlight._engine.trace.graph import extent
from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.recorder import Entry, arrays, root, roots

_ROW_OPS = ("reduce", "at", "iota", "extent")


def verify(entries: Sequence[Entry], after: str, before: Sequence[Entry] | None = None) -> None:
    """InvalidIR, naming entry and pass, unless the entries are a program, and the same as `before`."""
    made = roots([e.outs for e in (*entries, *(before or ()))])
    for number, (e, read) in enumerate(zip(entries, sources(entries), strict=True)):
        if isinstance(e.function, Kernel):
            _check(_misfit(e.function, e.operands[0], e.outs), e, number, after)
        if e.kind != "call":
            lost = [a for a, of in zip(arrays(e.given), read, strict=True) if a.size and not of]
            _check(bool(roots(lost) & made) and "an operand is read before it is made", e, number, after)
    if before is not None:
        _same(before, entries, after)


def _check(wrong: str | bool, e: Entry, number: int, after: str) -> None:
    if wrong:
        raise InvalidIR(f"after the pass {after!r}, entry {number} ({e.name}, at {e.where or '?'}): {wrong}")


def _misfit(kernel: Kernel, given: Sequence[Any], outs: Sequence[Any]) -> str:
    """Why a kernel is not one of these arrays; empty if it is."""
    said = [*[d for _, d, _ in kernel.inputs], *kernel.out_dtypes]
    found, shapes = [a.dtype.name for a in (*given, *outs)], [a.shape for a in (*given, *outs)]
    if said != found:
        return f"expected operands and results of the dtypes {said}, got {found}"
    try:
        nodes = kernel.meaning.verify()
    except InvalidIR as error:
        return str(error)
    if kernel.form == "pointwise" and any(n.op in _ROW_OPS for n in nodes):
        return "an expression of a row in a pointwise kernel"
    varies = (
        [False] * len(shapes)
        if kernel.form != "rows"
        else [*[role == "vector" for _, _, role in kernel.inputs], *kernel.made.vector_outputs]
    )
    lead = [s[:-1] if v else s for s, v in zip(shapes, varies, strict=True)]
    of = () if kernel.form == "full" else np.broadcast_shapes(*lead[: len(given)])
    fits = (
        all(prod(s) == prod(of) for s in lead[len(given) :])
        and len({s[-1] for s, v in zip(shapes, varies, strict=True) if v}) <= 1
    )
    return "" if fits else f"expected operands and results that fit each other, got the shapes {shapes}"


def sources(entries: Sequence[Entry]) -> list[list[frozenset[int]]]:
    """For each array that each entry is given: the entries that last wrote to its bytes."""
    writers: dict[int, list[tuple[int, int, int]]] = {}
    found: list[list[frozenset[int]]] = []
    for i, e in enumerate(entries):
        places = [(id(root(a)), *extent(a)) for a in arrays(e.given)]
        found.append(
            [
                frozenset([k for start, end, k in writers.get(key, ()) if start < high and low < end])
                for key, low, high in places
            ]
        )
        for key, low, high in [(id(root(a)), *extent(a)) for a in e.outs] if e.kind == "run" else places:
            left = [
                (max(a, start), min(b, end), k)
                for start, end, k in writers.get(key, ())
                for a, b in ((start, low), (high, end))
                if max(a, start) < min(b, end)
            ]
            writers[key] = [*left, (low, high, i)]
    return found


def unmoved(before: Sequence[Any], entries: Sequence[Entry], after: str) -> None:
    """InvalidIR unless every operand, in the memory that it has now, is what it was before."""
    for number, (e, was, now) in enumerate(zip(entries, before, sources(entries), strict=True)):
        _check(
            was != now
            and f"expected operands that entries {[*map(sorted, was)]} have written, got "
            f"{[*map(sorted, now)]}: results that live at the same time share memory",
            e,
            number,
            after,
        )


def _same(before: Sequence[Entry], entries: Sequence[Entry], after: str) -> None:
    known = roots([(e.given, e.outs) for e in before])
    was, now = _computed(before, set()), _computed(entries, known)
    effects = [[key for key in each if isinstance(key, tuple)] for each in (was, now)]
    if effects[0] != effects[1]:
        raise InvalidIR(f"after the pass {after!r}: expected the effects {effects[0]}, got {effects[1]}")
    allowed: dict[int, set[Any]] = {}
    alike = _alike(before)
    for key in now.keys() & was.keys():
        allowed.setdefault(now[key][0], set()).update(was[key][1])
    for number, of in now.values():
        right = {(alike.get(key, key), n) for key, n in allowed.get(number, of)}
        strange = {key for key, n in of if (alike.get(key, key), n) not in right} & known
        _check(
            bool(strange)
            and "it is computed from other values than before: it, or what it reads, has moved past a write",
            entries[number],
            number,
            after,
        )


def _alike(entries: Sequence[Entry]) -> dict[int, int]:
    """For memory that is made, the first that was made by the same from the same."""
    found, first, writes = dict[int, int](), dict[Any, int](), Counter[int]()
    for e in entries:
        read = []
        for a in arrays(e.given):
            key = id(root(a))
            read.append((found.get(key, key), writes[key], a.dtype, a.shape, a.strides))
        for k, o in enumerate(e.outs):
            found[id(root(o))] = first.setdefault((e.name, *read, k), id(root(o)))
        if e.kind != "run":
            writes.update(e.reads())
    return found


def _computed(entries: Sequence[Entry], ends: set[int]) -> dict[Any, tuple[int, set[tuple[int, int]]]]:
    """For memory that is made and for effects: by which entry, and from which memory, after how many writes
    to it; also from what that was computed, unless it is one of the `ends`.
    """
    writes, effects = Counter[int](), 0
    found: dict[Any, tuple[int, set[tuple[int, int]]]] = {}
    for number, e in enumerate(entries):
        read = e.reads()
        inside = [found[key][1] for key in read - ends if key in found]
        of = {(key, writes[key]) for key in read}.union(*inside)
        found.update(dict.fromkeys(roots(e.outs), (number, of)))
        if e.kind != "run":
            effects += 1
            found[effects, e.name] = number, of
            writes.update(read)
    return found
