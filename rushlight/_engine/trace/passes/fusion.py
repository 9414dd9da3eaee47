"""Fusion: kernels whose results only other kernels read become part of them.

A producer moves down to its consumer, or the consumer up to its producer, past what touches neither's
memory. Results that something else reads as well are still stored. The arithmetic of each element stays as
it was, to the order in which reductions add, so that a fused program gives the same bits.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.ops.expressions import Expr, m, substitute, symbol, toposort
from rushlight._engine.ops.row_expressions import COSTLY
from rushlight._engine.trace.passes.kernel_nodes import Kernel, node
from rushlight._engine.trace.passes.lowering import lowered
from rushlight._engine.trace.recorder import Array, Entry, root, roots

# Beyond these a kernel spills more than fusion saves.
_MOST_ARRAYS, _MOST_NODES = 14, 96
# Rows are read once per level of reductions, and what feeds them is computed each time.
_COSTLY = COSTLY | {"div"}


class Fusing:
    """Lowers entries to kernels and fuses them.

    owned: the memory of tensors. until: after it nothing is done any more, and `late` is set.
    """

    def __init__(self, owned: Container[int], until: float | None = None) -> None:
        self.owned, self.until, self.late = owned, until, False

    def lower(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with those that are known as expressions as kernels."""
        return [part for e in entries for part in ([e] if self._over() else lowered(e, self.owned))]

    def fuse(self, entries: Sequence[Entry], output: Any) -> list[Entry]:
        """The entries with kernels merged; output: what else reads their results."""
        fused = self._fused(entries, output, True)
        known = all(self._over() or compiled(e) for e in fused)
        # What emitters know of two kernels they know of both as one; if not, each pair is asked for.
        return fused if known else self._fused(entries, output, False)

    def _fused(self, entries: Sequence[Entry], output: Any, later: bool) -> list[Entry]:
        """later: a kernel is compiled when all are merged, so that none is that becomes part of another."""
        fusion = _Fusion(entries, roots(output), later)
        for i in range(len(entries)):
            while not self._over() and fusion.pull(i):
                pass
        return [e for e in fusion.items if e is not None]

    def _over(self) -> bool:
        self.late = self.late or (self.until is not None and time.perf_counter() > self.until)
        return self.late


class _Fusion:
    def __init__(self, entries: Sequence[Entry], live: set[int], later: bool) -> None:
        self.items: list[Entry | None] = list(entries)
        self.live, self.later = live, later
        self.touched = {id(e): (e.reads(), roots(e.outs)) for e in entries}
        self.readers = Counter(r for e in entries for r in self.touched[id(e)][0])
        # What only runs make: calls may write to all else, to gradients too.
        self.made = {r for e in entries for r in self.touched[id(e)][1]}
        self.made -= {r for e in entries if e.kind == "call" for r in self.touched[id(e)][0]}
        # Where memory is read or written, in order; where calls and marks are.
        self.places: dict[int, list[int]] = {}
        for i, e in enumerate(entries):
            for r in set().union(*self.touched[id(e)]):
                self.places.setdefault(r, []).append(i)
        self.calls = [i for i, e in enumerate(entries) if e.kind == "call"]
        self.marks = [i for i, e in enumerate(entries) if e.kind == "mark"]

    def pull(self, i: int) -> bool:
        """Merge one producer into the entry at `i`."""
        consumer = self.items[i]
        if consumer is None or not isinstance(consumer.function, Kernel):
            return False
        wanted = {id(root(a)) for a in consumer.operands[0]}
        for j in sorted({j for r in wanted for j in self._between(r, -1, i)}, reverse=True):
            producer: Any = self.items[j]
            if not isinstance(producer.function, Kernel) or not wanted & self.touched[id(producer)][1]:
                continue
            place = i if self._free(producer, j, i) else j if self._free(consumer, j, i) else -1
            merged = self._merged(producer, consumer) if place >= 0 else None
            if merged is not None:
                self._replace(j, i, place, merged)
                return place == i
        return False

    def _between(self, r: int, j: int, i: int) -> list[int]:
        """Places between these two where memory is read or written."""
        places = self.places.get(r, [])
        return places[bisect_right(places, j) : bisect_left(places, i)]

    def _free(self, mover: Entry, j: int, i: int) -> bool:
        """Whether an entry can move past all between `j` and `i`."""
        reads, writes = self.touched[id(mover)]
        touched = reads | writes
        if _any_between(self.marks, j, i) or (not touched <= self.made and _any_between(self.calls, j, i)):
            return False
        for r in touched:
            for k in self._between(r, j, i):
                other: Any = self.items[k]
                if r in writes or r in self.touched[id(other)][1] or other.kind != "run":
                    return False
        return True

    def _merged(self, producer: Entry, consumer: Entry) -> Entry | None:
        dropped = [
            o
            for o in producer.outs
            if id(root(o)) not in self.live
            and (self.readers[id(root(o))] == int(id(root(o)) in self.touched[id(consumer)][0]))
        ]
        return _Pair(producer, consumer).merged(dropped, self.later)

    def _replace(self, j: int, i: int, place: int, merged: Entry) -> None:
        for k in (j, i):
            reads, writes = self.touched[id(self.items[k])]
            self.readers.subtract(reads)
            for r in reads | writes:
                self.places[r].remove(k)
            self.items[k] = None
        self.items[place] = merged
        reads, writes = self.touched[id(merged)] = merged.reads(), roots(merged.outs)
        self.readers.update(reads)
        for r in reads | writes:
            insort(self.places.setdefault(r, []), place)


def compiled(entry: Entry) -> bool:
    """Whether there is machine code for an entry, if it is a kernel: it is made now."""
    return not isinstance(entry.function, Kernel) or entry.function.tiered.compile_now()


def _any_between(places: Sequence[int], j: int, i: int) -> bool:
    return bisect_right(places, j) < bisect_left(places, i)


class _Pair:
    """A producer and a consumer as one kernel."""

    def __init__(self, producer: Entry, consumer: Entry) -> None:
        self.producer, self.consumer = producer, consumer
        self.first: Kernel = producer.function
        self.second: Kernel = consumer.function
        self.operands: list[tuple[str, Array, str]] = []
        self.names: dict[Any, str] = {}

    def merged(self, dropped: Sequence[Array], later: bool) -> Entry | None:
        """The fused entry, without storing `dropped`; None where the two do not fit."""
        forms = (self.first.form, self.second.form)
        if (
            forms
            not in (
                ("pointwise", "pointwise"),
                ("pointwise", "rows"),
                ("rows", "pointwise"),
                ("pointwise", "full"),
            )
            or self.first.tiered.work != self.second.tiered.work
        ):
            return None
        form = forms[0] if forms[1] == "pointwise" else forms[1]
        handed = {
            k: o for k, a in enumerate(self.consumer.operands[0]) for o in self.producer.outs if _same(a, o)
        }
        lost = {id(root(o)) for o in self.producer.outs}
        if not handed or any(
            id(root(a)) in lost for k, a in enumerate(self.consumer.operands[0]) if k not in handed
        ):
            return None
        kept = [o for o in self.producer.outs if not any(o is d for d in dropped)]
        if not self._fits(form, list(handed.values()), kept):
            return None
        shape = handed[next(iter(handed))].shape
        exprs, outs, dtypes = self._expressions(handed, kept, shape[-1] if form == "rows" else None)
        if len(self.operands) + len(outs) > _MOST_ARRAYS or _count(tuple(exprs)) > _MOST_NODES:
            return None
        where, lanes, combine = self.consumer.where, self._lanes(), self.second.combine
        return node(form, exprs, self.operands, outs, dtypes, where, lanes, combine, later)

    def _fits(self, form: str, handed: Sequence[Array], kept: Sequence[Array]) -> bool:
        """Whether one pass over memory does for both."""
        shape = handed[0].shape
        if any(o.shape != shape for o in handed):
            return False
        if form == "full":
            return (
                not kept
                and not self._costs_twice(1)
                and all(a.shape == shape and a.flags.c_contiguous for a in self.producer.operands[0])
            )
        if self.second.form == "pointwise" and any(o.shape != shape for o in self.consumer.outs):
            return False
        if self.first.form == "rows":
            varies = self.first.made.vector_outputs
            vectors = [o for o, v in zip(self.producer.outs, varies, strict=True) if v]
            return all(any(o is v for v in vectors) for o in handed)
        if form == "rows":
            whole = {e.src[0].arg for e in self.second.nodes if e.op == "at"}
            if any(
                _same(a, o) and name in whole
                for (name, _, _), a in zip(self.second.inputs, self.consumer.operands[0], strict=True)
                for o in handed
            ):
                return False
            roles = [role for _, _, role in self.second.inputs]
            vectors = [a for a, r in zip(self.consumer.operands[0], roles, strict=True) if r == "vector"]
            if kept and shape != np.broadcast_shapes(*[a.shape for a in vectors]):
                return False
            return all(any(_same(o, v) for v in vectors) for o in handed) and not self._costs_twice(0)
        return True

    def _costs_twice(self, allowed: int) -> bool:
        passes = sum(n.op == "reduce" for n in self.second.nodes) + allowed
        return passes > 1 and any(n.op in _COSTLY for n in self.first.nodes)

    def _expressions(
        self, handed: dict[int, Array], kept: Sequence[Array], extent: int | None
    ) -> tuple[list[Expr], list[Array], list[str]]:
        first = self._renamed(self.producer, {}, extent)
        # What a later kernel would have read: the value as it was stored.
        types = self.first.types
        values = {
            id(o): e if types[own] == d else m.cast(e, arg=d)
            for o, e, own, d in zip(
                self.producer.outs, first, self.first.exprs, self.first.out_dtypes, strict=True
            )
        }
        second = self._renamed(self.consumer, {k: values[id(o)] for k, o in handed.items()}, extent)
        stored = [
            (e, o, d)
            for o, e, d in zip(self.producer.outs, first, self.first.out_dtypes, strict=True)
            if any(o is k for k in kept)
        ]
        stored += zip(second, self.consumer.outs, self.second.out_dtypes, strict=True)
        exprs, outs, dtypes = zip(*stored, strict=True)
        return list(exprs), list(outs), list(dtypes)

    def _renamed(self, entry: Entry, known: dict[int, Expr], extent: int | None) -> list[Expr]:
        """The entry's expressions over this pair's operands; equal arrays are one operand."""
        kernel: Kernel = entry.function
        mapping = {}
        for k, ((name, _, role), a) in enumerate(zip(kernel.inputs, entry.operands[0], strict=True)):
            if k not in known:
                if extent is not None and kernel.form == "pointwise" and a.shape[-1:] != (extent,):
                    # It does not vary along the row.
                    a, role = a[..., 0] if a.ndim else a, "scalar"
                key = _key(a), role
                if key not in self.names:
                    self.names[key] = f"y{len(self.names)}"
                    self.operands.append((self.names[key], a, role))
            mapping[symbol(name)] = known[k] if k in known else symbol(self.names[key])
        return _renamed(kernel.exprs, tuple(mapping.items()))

    def _lanes(self) -> int:
        """The lanes of the reductions that are taken over, so that they add in the same order."""
        rows = self.first if self.first.form == "rows" else self.second
        return 0 if rows.form == "pointwise" else rows.lanes or rows.tiered.own_lanes


@lru_cache(4096)
def _renamed(exprs: tuple[Expr, ...], mapping: tuple[tuple[Expr, Expr], ...]) -> list[Expr]:
    return [substitute(e, dict(mapping)) for e in exprs]


@lru_cache(4096)
def _count(exprs: tuple[Expr, ...]) -> int:
    return len(toposort(exprs))


def _key(a: Array) -> tuple[Any, ...]:
    return pointer(a), a.shape, a.strides, a.dtype


def _same(a: Array, b: Array) -> bool:
    return _key(a) == _key(b)
