"""Machine code of the maxima of windows, and of adding to where they were found.

`maxima`: for each window i of a plane, the greatest A[ai[i] + at[t]] (a nan is, the last of them), and its
place pi[i] + pt[t]. A window begins with its tap first[i]; of equal elements the first is found.
    args: A, maxima, places, ai, at, pi, pt, first, lines    dims: how many i, t, then how many lines of how
    many bytes go to where `lines` says of a padded plane of how many elements, 0 for none
`spread`: out[places[i, c], c] += g[i, c], in order.
    args: g, places, out                              dims: how many i, c
Both have the team's ABI; tables hold bytes (ai, at), numbers (pi, pt, first), and go on for a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import MEMCPY, close, memory, slot


class _Maxima(Writer):
    """The parts of `maxima` share what the call says."""

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.source, self.maxima, self.places, self.ai, self.at, self.pi, self.pt, self.first, self.lines = (
            f.load("ptr", "%args", SLOT * k) for k in range(9)
        )
        self.count, self.taps, *self.plane = (f.load("i64", "%dims", SLOT * k) for k in range(5))

    def widen(self, scratch: str) -> None:
        """Let A be a padded copy, where padding is asked for."""
        f, (lines, width, size) = self.function, self.plane
        f.module.declare(*MEMCPY)
        with f.counted(self.over(size, self.lanes)) as block:
            self.write(f.const(self.kind, -inf), scratch, f.i64("mul", block, self.lanes * self.size))
        some = f.i64("icmp ne", size, 0)
        with f.counted(f.op(f"select i1 {some}, i64 {lines}, i64 0")) as line:
            to, source = (
                f.at(scratch, self.entry(self.lines, line)),
                f.at(self.source, f.i64("mul", line, width)),
            )
            f.emit(f"call void {MEMCPY[0]}(ptr {to}, ptr {source}, i64 {width}, i1 false)")
        self.source = f.op(f"select i1 {some}, ptr {scratch}, ptr {self.source}")

    def whole(self) -> None:
        """Vector by vector of windows, quickly where they lie side by side or with one between."""
        f, wide = self.function, self.lanes
        # The copy is filled in whole vectors.
        with memory(f, f.i64("mul", f.i64("add", self.plane[-1], wide), self.size)) as scratch:
            self.widen(scratch)
            with f.counted(self.over(self.count, wide)) as block:
                begin = f.i64("mul", block, wide)
                whole = f.i64("icmp sle", f.i64("add", begin, wide), self.count)
                slow = "true"
                for step in (1, 2):
                    quick = f.op(f"and i1 {whole}, {self.rises(self.ai, begin, step * self.size)}")
                    slow = f.op(f"xor i1 {quick}, {slow}")
                    with f.when(quick):
                        self.side_by_side(begin, step)
                with f.when(slow):
                    self.one_by_one(begin)
        close(f)

    def side_by_side(self, begin: str, step: int) -> None:
        """Windows whose elements are `step` apart for each tap."""
        f, start = self.function, self.function.at(self.source, self.entry(self.ai, begin))
        most, which = self._greatest(begin, lambda t: self._apart(f.at(start, self.entry(self.at, t)), step))
        self.write(most, self.maxima, f.i64("mul", begin, self.size))
        for k in range(f.width):
            self._place(f.i64("add", begin, k), which, k)

    def _apart(self, p: str, step: int) -> Lane:
        one, wide = self.read(p), self.lanes
        if step == 1:
            return one
        # The second half begins early enough to end where the last window does.
        two = self.read(p, (wide - 1) * self.size)
        return self.shuffled(one, two, [2 * k if 2 * k < wide else 2 * k + 1 for k in range(wide)])

    def _greatest(self, begin: str, read: Callable[[str], Lane]) -> list[Lane]:
        """What begins as minus infinity at the first tap that is not padding: no smaller one is found."""
        f, many = self.function, f"<{self.function.width} x i64>"
        number = f.op(f"load {many}, ptr {slot(f, self.first, begin)}, align 8")
        taps = Lane(f, "i32", f.op(f"trunc {many} {number} to {f.type('i32')}"))
        with f.vectors(self.taps, [f.const(self.kind, -inf), taps]) as (t, (most, which), updated):
            value, tap = read(t), self.function.op(f"trunc i64 {t} to i32")
            better = (value > most).bits("or", value.is_nan())
            updated += [better.where(value, most), better.where(self.function.splat("i32", tap), which)]
        return [most, which]

    def _place(self, window: str, which: Lane, k: int) -> None:
        f, tap = self.function, self.function.op(f"extractelement {which!r}, i64 {k}")
        offset = self.entry(self.pt, f.op(f"sext i32 {tap} to i64"))
        f.store("i64", f.i64("add", self.entry(self.pi, window), offset), slot(f, self.places, window))

    def one_by_one(self, begin: str) -> None:
        """Windows anywhere, of which some may be beyond the last."""
        f, kind = self.function, self.kind
        windows = [f.i64("add", begin, k) for k in range(f.width)]
        starts = [f.at(self.source, self.entry(self.ai, i)) for i in windows]
        most, which = self._greatest(begin, lambda t: self.gathered(starts, self.entry(self.at, t)))
        for k, i in enumerate(windows):
            with f.when(f.i64("icmp slt", i, self.count)):
                f.store(
                    kind,
                    f.op(f"extractelement {most!r}, i64 {k}"),
                    f.at(self.maxima, f.i64("mul", i, self.size)),
                )
                self._place(i, which, k)


def maxima(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `maxima`."""
    _Maxima(module, name, kind, lanes).whole()


def spread(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `spread`."""
    f, size = Function(module, HEADER.format(name)), BITS[kind] // 8
    g, places, out = (f.load("ptr", "%args", SLOT * k) for k in range(3))
    many, channels = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    with f.counted(many) as i:
        first = f.i64("mul", i, channels)
        with f.counted(channels) as c:
            k = f.i64("add", first, c)
            place = f.i64("mul", f.load("i64", slot(f, places, k)), channels)
            to = f.at(out, f.i64("mul", f.i64("add", place, c), size))
            value = f.load(kind, g, f.i64("mul", k, size))
            f.store(kind, f.op(f"fadd {kind} {f.load(kind, to)}, {value}"), to)
    close(f)
