"""The k largest or smallest of each row, found in one walk: few elements beat the least of those so far."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base.config import knobs
from rushlight.compiler import native, pool, target, team
from rushlight.compiler.ir import INT_OF, Module
from rushlight.compiler.lanes import Lane
from rushlight.compiler.runtime import SLOT, slot
from rushlight.compiler.teamcode import MEMCPY
from rushlight.compiler.tilecode import Writer

Array = np.ndarray[Any, Any]
_KINDS = frozenset(("float32", "float64", "int32", "int64"))
# Who comes in moves the others, one by one.
_MOST = 24


def leaders(rows: Array, k: int, largest: bool) -> Array | None:
    """The places (*lead, k) of the first k of each row in stable order, nan the largest; None for others."""
    if rows.dtype.name not in _KINDS or not 0 < k <= min(_MOST, rows.shape[-1]) or knobs.kernels == "numpy" \
            or not target.available() or not team.possible():
        return None
    rows, places = np.ascontiguousarray(rows), np.empty((*rows.shape[:-1], k), np.int64)
    _call(rows.dtype.name, places.size // k, rows.shape[-1], k, largest)(pool.get_num_threads(), rows, places)
    return places


@lru_cache(maxsize=256)
def _call(of: str, count: int, n: int, k: int, largest: bool) -> team.Call:
    pieces = min(count, 16 * pool.get_num_threads())
    cuts = np.arange(pieces + 1) * count // pieces
    jobs = np.empty((pieces, 5), np.int64)
    jobs[:, 0], jobs[:, 1] = cuts[:-1] * n * np.dtype(of).itemsize, cuts[:-1] * k * SLOT
    jobs[:, 2], jobs[:, 3:] = np.diff(cuts), (n, k)
    steps = np.array([largest - 1], np.int64)
    return team.Call((native.loop(write, of), jobs, (0, 1), 2, steps))


def write(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR. args: rows, places. dims: how many rows, n, k. steps: 0 for the largest, else -1."""
    _Leaders(module, name, kind, lanes).whole()


class _Leaders(Writer):
    """Numbers in the order of the elements, and their places, lie in a short list, the greatest first."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f, self.key = self.f, INT_OF.get(kind, kind)
        module.declare(*MEMCPY)
        module.declare("ctpop", "declare i64 @llvm.ctpop.i64(i64)")
        module.declare("cttz", "declare i64 @llvm.cttz.i64(i64, i1)")
        self.rows, self.places = (f.load("ptr", "%args", SLOT * i) for i in range(2))
        self.count, self.n, self.k = (f.load("i64", "%dims", SLOT * i) for i in range(3))
        flip = f.load("i64", "%steps")
        self.flip = f.splat(self.key, flip if self.key == "i64" else f.op(f"trunc i64 {flip} to {self.key}"))
        self.tail, self.keys = (f.op(f"alloca i8, i64 {size}, align 64") for size in (64, lanes * self.size))
        self.list = f.op(f"alloca i8, i64 {_MOST * self.size}, align 64")

    def whole(self) -> None:
        """Row by row, vector by vector."""
        f, wide = self.f, self.lanes * self.size
        with f.counted(self.count) as row:
            base = f.at(self.rows, f.i64("mul", f.i64("mul", row, self.n), self.size))
            self.to = slot(f, self.places, f.i64("mul", row, self.k))
            self.held = f.var(0)
            with f.counted(self.over(self.n, self.lanes)) as block:
                begin, place = f.i64("mul", block, self.lanes), f.at(base, f.i64("mul", block, wide))
                left = f.i64("sub", self.n, begin)
                partial = f.i64("icmp slt", left, self.lanes)
                with f.when(partial):
                    f.emit(f"call void {MEMCPY[0]}(ptr {self.tail}, ptr {place}, i64 "
                           f"{f.i64('mul', left, self.size)}, i1 false)")
                keys = self._ranks(self.read(f.op(f"select i1 {partial}, ptr {self.tail}, ptr {place}")))
                least = f.splat(self.key, f.load(self.key, self._entry(f.i64("sub", self.k, 1))))
                # A bit for each that may come in.
                full, more = (1 << self.lanes) - 1, f.op(f"bitcast {least.compare('lt', keys)!r} to i{self.lanes}")
                more = f.op(f"select i1 {self._open()}, i64 {full}, i64 {f.op(f'zext i{self.lanes} {more} to i64')}")
                there = f.i64("lshr", full, f.i64("sub", self.lanes, self.least(self.lanes, left)))
                more = f.var(f.i64("and", more, there))
                with f.when(f.i64("icmp ne", more.get(), 0)):
                    self.write(keys, self.keys)
                    with f.counted(f.op(f"call i64 @llvm.ctpop.i64(i64 {more.get()})")):
                        bits = more.get()
                        lane = f.op(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")
                        more.set(f.i64("and", bits, f.i64("sub", bits, 1)))
                        self._offer(f.load(self.key, self.keys, f.i64("mul", lane, self.size)),
                                    f.i64("add", begin, lane))
        f.emit("ret i32 0")
        f.finish()

    def _ranks(self, x: Lane) -> Lane:
        """Integers in the order of the elements: those of negative numbers fall as their bits rise."""
        if self.key != self.kind:
            # -0.0 becomes 0.0, its equal.
            bits, top = (x + 0.0).cast("bitcast", self.key), 8 * self.size - 1
            falls = bits.bits("ashr", top).bits("and", (1 << top) - 1)
            x = x.is_nan().where((1 << top) - 1, bits.bits("xor", falls))
        return x.bits("xor", self.flip)

    def _entry(self, j: str) -> str:
        return self.f.at(self.list, self.f.i64("mul", j, self.size))

    def _open(self) -> str:
        return self.f.i64("icmp slt", self.held.get(), self.k)

    def _offer(self, key: str, place: str) -> None:
        """Put it before all that are less, if it is one of the first."""
        f = self.f
        last = f.i64("sub", self.k, 1)
        more = f.op(f"icmp sgt {self.key} {key}, {f.load(self.key, self._entry(last))}")
        with f.when(f.op(f"or i1 {self._open()}, {more}")):
            held = self.held.get()
            begin, to = self.least(held, last), f.var(self.least(held, last))
            self.held.set(self.least(self.k, f.i64("add", held, 1)))
            with f.counted(begin) as i:
                j = f.i64("sub", begin, i)
                before = f.i64("sub", j, 1)
                other = f.load(self.key, self._entry(before))
                with f.when(f.op(f"icmp sgt {self.key} {key}, {other}")):
                    f.store(self.key, other, self._entry(j))
                    f.store("i64", f.load("i64", slot(f, self.to, before)), slot(f, self.to, j))
                    to.set(before)
            f.store(self.key, key, self._entry(to.get()))
            f.store("i64", place, slot(f, self.to, to.get()))
