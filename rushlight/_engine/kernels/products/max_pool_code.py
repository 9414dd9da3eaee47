"""Machine code of the maxima and means of windows, and of adding to where maxima were found.

`maxima`: for each window i of a plane, the greatest A[ai[i] + at[t]] (a nan is, the last of them), and its
place pi[i] + pt[t]. A window begins with its tap first[i]; of equal elements the first is found.
    args: A, maxima, places, ai, at, pi, pt, first, lines    dims: how many i, t, then how many lines of how
    many bytes go to where `lines` says of a padded plane of how many elements, 0 for none
`means`: the sum of each window i of A[ai[i] + at[t]] over shares[i].
    args: A, means, shares, ai, at, lines    dims: as above
`spread`: out[places[i, c], c] += g[i, c], in order.
    args: g, places, out                              dims: how many i, c
Both have the team's ABI; tables hold bytes (ai, at), numbers (pi, pt, first), and go on for a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import BITS, Function, Module
from rushlight._engine.kernels.products.tile_code import Writer
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import MEMCPY, close, memory, slot


class _Windows(Writer):
    """What the code of all windows shares: which memory they read, and how vectors of them are found."""

    outside: float  # what padding is

    def __init__(self, module: Module, name: str, kind: str, lanes: int) -> None:
        super().__init__(module, name, kind, lanes)
        f = self.function
        self.source, self.ai, self.at, self.lines = self.operands()
        self.count, self.taps, *self.plane = (f.load("i64", "%dims", SLOT * k) for k in range(5))

    def operands(self) -> list[str]:
        """A, what each window has of its own, the tables of windows and of taps, and the lines."""
        raise NotImplementedError

    def widen(self, scratch: str) -> None:
        """Let A be a padded copy, where padding is asked for."""
        f, (lines, width, size) = self.function, self.plane
        f.module.declare(*MEMCPY)
        with f.counted(self.over(size, self.lanes)) as block:
            self.write(f.const(self.kind, self.outside), scratch, f.i64("mul", block, self.lanes * self.size))
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
                        start = f.at(self.source, self.entry(self.ai, begin))
                        self.side_by_side(
                            begin, lambda t: self._apart(f.at(start, self.entry(self.at, t)), step)
                        )
                with f.when(slow):
                    windows = [f.i64("add", begin, k) for k in range(f.width)]
                    starts = [f.at(self.source, self.entry(self.ai, i)) for i in windows]
                    self.one_by_one(begin, windows, lambda t: self.gathered(starts, self.entry(self.at, t)))
        close(f)

    def side_by_side(self, begin: str, read: Callable[[str], Lane]) -> None:
        """A vector of windows from `begin` on; read: their elements of a tap."""
        raise NotImplementedError

    def one_by_one(self, begin: str, windows: Sequence[str], read: Callable[[str], Lane]) -> None:
        """Windows of which some may be beyond the last."""
        raise NotImplementedError

    def _apart(self, p: str, step: int) -> Lane:
        one, wide = self.read(p), self.lanes
        if step == 1:
            return one
        # The second half begins early enough to end where the last window does.
        two = self.read(p, (wide - 1) * self.size)
        return self.shuffled(one, two, [2 * k if 2 * k < wide else 2 * k + 1 for k in range(wide)])

    def scattered(self, value: Lane, windows: Sequence[str], to: str) -> Iterator[tuple[str, int]]:
        """Store the lanes of windows that there are; gives each, while it is stored, and its lane."""
        f = self.function
        for k, i in enumerate(windows):
            with f.when(f.i64("icmp slt", i, self.count)):
                one = f.op(f"extractelement {value!r}, i64 {k}")
                f.store(self.kind, one, f.at(to, f.i64("mul", i, self.size)))
                yield i, k


class _Maxima(_Windows):
    outside = -inf

    def operands(self) -> list[str]:
        found = [self.function.load("ptr", "%args", SLOT * k) for k in range(9)]
        a, self.maxima, self.places, ai, at, self.pi, self.pt, self.first, lines = found
        return [a, ai, at, lines]

    def side_by_side(self, begin: str, read: Callable[[str], Lane]) -> None:
        most, which = self._greatest(begin, read)
        self.write(most, self.maxima, self.function.i64("mul", begin, self.size))
        for k in range(self.function.width):
            self._place(self.function.i64("add", begin, k), which, k)

    def one_by_one(self, begin: str, windows: Sequence[str], read: Callable[[str], Lane]) -> None:
        most, which = self._greatest(begin, read)
        for i, k in self.scattered(most, windows, self.maxima):
            self._place(i, which, k)

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


class _Means(_Windows):
    outside = 0.0

    def operands(self) -> list[str]:
        a, self.means, self.shares, *tables = (self.function.load("ptr", "%args", SLOT * k) for k in range(6))
        return [a, *tables]

    def side_by_side(self, begin: str, read: Callable[[str], Lane]) -> None:
        self.write(self._mean(begin, read), self.means, self.function.i64("mul", begin, self.size))

    def one_by_one(self, begin: str, windows: Sequence[str], read: Callable[[str], Lane]) -> None:
        for _ in self.scattered(self._mean(begin, read), windows, self.means):
            pass

    def _mean(self, begin: str, read: Callable[[str], Lane]) -> Lane:
        f = self.function
        with f.vectors(self.taps, [f.const(self.kind, 0.0)]) as (t, totals, updated):
            updated.append(totals[0] + read(t))
        return totals[0] / self.read(self.shares, f.i64("mul", begin, self.size))


def means(module: Module, name: str, kind: str, lanes: int) -> None:
    """The IR of `means`."""
    _Means(module, name, kind, lanes).whole()


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
