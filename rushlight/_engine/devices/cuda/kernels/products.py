"""The text of matrix products' kernels, for devices without cuBLAS and for products that it does not take.

A warp has a tile of the result and goes along the inner dim, of which it may have a part; warps know nothing
of each other. Numbers are added up in the inner dim's order in float, or double for doubles, so results are
the same every time. Operands may lie in any strides.

The pointers: a, b, and the result. The numbers: NUMBERS, strides in bytes; `down` and `across` are how many
tiles a result has, a part has `span` places of the inner dim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from rushlight._engine.devices.cuda.kernels.targets import TARGETS, WARP, Thread
from rushlight._engine.devices.cuda.kernels.writing import strided
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Module, Variable
from rushlight._engine.kernels.emit.scalar_code import item_size, load, store

NUMBERS = (
    *("batches", "down", "across", "parts", "span", "rows", "columns", "inner"),
    *("a_batch", "a_row", "a_inner", "b_batch", "b_inner", "b_column"),
    *("c_part", "c_batch", "c_row", "c_column"),
)
# Rows and columns of a warp's tile: plainly, and by tensor cores.
PLAIN, CORES = (16, 32), (32, 32)
# How far a tensor core goes along the inner dim.
_STEP = 16
_FLOATS = {"complex64": "float32", "complex128": "float64"}


class _Kernel:
    """What both kernels have in common: a warp's tiles, places in the matrices."""

    # Of the tile at hand: where the matrices begin, and where its part of the product does.
    bases: list[str]
    made: str

    def __init__(self, target: str) -> None:
        self.module = Module(fma=True)
        self.f: Thread = TARGETS[target](self.module, "kernel", ("a", "b", "c"), NUMBERS)
        self.f.begin()
        self.lane = self.f.i64("and", self.f.special("tid"), WARP - 1)
        self.f.mark_early()

    @contextmanager
    def tiles(self, shape: tuple[int, int]) -> Iterator[tuple[str, str, str, str]]:
        """A loop over this warp's tiles: (first row, first column, where its part of the inner dim begins and
        ends); `bases` are the matrices' beginnings. All warps of a block go the same way, as tensor cores of
        the simulator ask for: one that has no tile left begins at a row that is not there.
        """
        f = self.f
        warps, warp = (f.i64("lshr", f.special(x), 5) for x in ("ntid", "tid"))
        count = f.i64("mul", f.i64("mul", "%batches", "%parts"), f.i64("mul", "%down", "%across"))
        first, step = (f.i64("mul", f.special(x), warps) for x in ("ctaid", "nctaid"))
        with strided(f, first, step, count) as group:
            tile = f.i64("add", group, warp)
            rest, places = self.least(tile, f.i64("sub", count, 1)), list[str]()
            for size in ("%across", "%down", "%parts"):
                quotient = f.i64("udiv", rest, size)
                places.append(f.i64("sub", rest, f.i64("mul", quotient, size)))
                rest = quotient
            column, row, part = places
            begin = f.i64("mul", part, "%span")
            end = self.least(f.i64("add", begin, "%span"), "%inner")
            there = f.i64("add", f.i64("mul", part, "%c_part"), f.i64("mul", rest, "%c_batch"))
            self.bases = [f.at(f"%{x}", f.i64("mul", rest, f"%{x}_batch")) for x in "ab"]
            self.made = f.at("%c", there)
            mine = f.i64("icmp slt", tile, count)
            row = f.op(f"select i1 {mine}, i64 {f.i64('mul', row, shape[0])}, i64 %rows")
            yield row, f.i64("mul", column, shape[1]), begin, end

    def least(self, a: str, b: str) -> str:
        """The lesser of two numbers."""
        f = self.f
        return f.op(f"select i1 {f.i64('icmp slt', a, b)}, i64 {a}, i64 {b}")

    def lines(self, matrix: int, first: str, places: Sequence[str], dim: str, stride: str) -> list[str]:
        """Where the lines of a matrix begin that are at places from `first` on; the last one where there are
        none.
        """
        f, last = self.f, self.f.i64("sub", f"%{dim}", 1)
        found = [self.least(f.i64("add", first, place), last) for place in places]
        return [f.at(self.bases[matrix], f.i64("mul", x, f"%{stride}")) for x in found]

    def keep(self, row: str, column: str, write: Callable[[str], None]) -> None:
        """Write an element, if it is one of the result's."""
        f = self.f
        inside = f.op(f"and i1 {f.i64('icmp slt', row, '%rows')}, {f.i64('icmp slt', column, '%columns')}")
        with f.when(inside):
            down, right = f.i64("mul", row, "%c_row"), f.i64("mul", column, "%c_column")
            write(f.at(self.made, f.i64("add", down, right)))

    def text(self) -> tuple[str, int]:
        """(the module, its barriers)."""
        self.f.emit("ret void")
        self.f.finish()
        return self.module.text(), self.f.barriers


# --- plainly --------------------------------------------------------------------------------------------

# A number's parts: one, or a complex number's two.
_Parts = list[Lane]


def _loaded(f: Thread, place: str, of: str) -> _Parts:
    real = _FLOATS.get(of)
    if real is None:
        return [load(f, place, of)]
    return [load(f, place, real), load(f, f.at(place, item_size(real)), real)]


def _added(total: _Parts, a: _Parts, b: _Parts) -> _Parts:
    """total + a * b."""
    if len(a) == 1:
        return [a[0].fma(b[0], total[0])]
    real = (-a[1]).fma(b[1], a[0].fma(b[0], total[0]))
    return [real, a[1].fma(b[0], a[0].fma(b[1], total[1]))]


@lru_cache(maxsize=64)
def plain(of: str, made: str, target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) for products of a dtype, written in the dtype `made`: a thread has
    four rows and four columns of a tile.
    """
    k = _Kernel(target)
    f, kind = k.f, "double" if of in ("float64", "complex128") else "float"
    count = 2 if of in _FLOATS else 1
    down, right = f.i64("lshr", k.lane, 3), f.i64("and", k.lane, 7)
    rows = [f.i64("add", down, 4 * i) for i in range(4)]
    columns = [f.i64("add", right, 8 * j) for j in range(4)]
    with k.tiles(PLAIN) as (row, column, begin, end):
        left = k.lines(0, row, rows, "rows", "a_row")
        top = k.lines(1, column, columns, "columns", "b_column")
        totals = [[[f.var("0.0", kind) for _ in range(count)] for _ in top] for _ in left]
        with strided(f, begin, "1", end) as at:
            one = [_loaded(f, f.at(x, f.i64("mul", at, "%a_inner")), of) for x in left]
            two = [_loaded(f, f.at(x, f.i64("mul", at, "%b_inner")), of) for x in top]
            for a, line in zip(one, totals, strict=True):
                for b, total in zip(two, line, strict=True):
                    before = [f.splat(kind, t.get()) for t in total]
                    for t, x in zip(total, _added(before, a, b), strict=True):
                        t.set(f.op(f"extractelement {x!r}, i64 0"))
        real = _FLOATS.get(made, made)
        for i, line in zip(rows, totals, strict=True):
            for j, total in zip(columns, line, strict=True):

                def write(place: str, total: list[Variable] = total) -> None:
                    for n, t in enumerate(total):
                        store(f, f.splat(kind, t.get()), f.at(place, n * item_size(real)), real)

                k.keep(f.i64("add", row, i), f.i64("add", column, j), write)
    return k.text()


# --- by tensor cores ------------------------------------------------------------------------------------


class _Cores(_Kernel):
    """Products of half precision. words: of a and of b whether neighbours along the inner dim lie side by
    side, at even places, so that one access reads two.
    """

    def __init__(self, words: tuple[bool, bool], target: str) -> None:
        super().__init__(target)
        self.words = words
        self.group, part = self.f.i64("lshr", self.lane, 2), self.f.i64("and", self.lane, 3)
        self.pair = self.f.i64("shl", part, 1)

    def half(self, line: str, at: str, stride: str, end: str) -> str:
        """A number of a line, as the low bits of an i32; 0 behind the end."""
        f = self.f
        safe = self.least(at, f.i64("sub", end, 1))
        found = f.op(f"zext i16 {f.load('i16', line, f.i64('mul', safe, f'%{stride}'))} to i32")
        return f.op(f"select i1 {f.i64('icmp slt', at, end)}, i32 {found}, i32 0")

    def word(self, matrix: int, line: str, at: str, end: str) -> str:
        """Two neighbours along the inner dim, from `at` on; 0 behind the end."""
        f = self.f
        if self.words[matrix]:  # all of a word is before the end, or none
            safe = self.least(at, f.i64("sub", end, 2))
            found = f.load("i32", line, f.i64("mul", safe, 2))
            return f.op(f"select i1 {f.i64('icmp slt', at, end)}, i32 {found}, i32 0")
        stride = ("a_inner", "b_inner")[matrix]
        low, high = (self.half(line, f.i64("add", at, n), stride, end) for n in (0, 1))
        return f.op(f"or i32 {low}, {f.op(f'shl i32 {high}, 16')}")


@lru_cache(maxsize=64)
def cores(of: str, made: str, words: tuple[bool, bool], target: str) -> tuple[str, int]:
    """(LLVM IR of @kernel, its barriers) for products of float16 or bfloat16 by tensor cores, written in the
    dtype `made`.
    """
    k = _Cores(words, target)
    f = k.f
    rows = [f.i64("add", k.group, 8 * i) for i in range(CORES[0] // 8)]
    columns = [f.i64("add", k.group, 8 * j) for j in range(CORES[1] // 8)]
    with k.tiles(CORES) as (row, column, begin, end):
        left = k.lines(0, row, rows, "rows", "a_row")
        top = k.lines(1, column, columns, "columns", "b_column")
        totals = [[[f.var("0.0", "float") for _ in range(4)] for _ in top] for _ in left[::2]]
        with strided(f, begin, str(_STEP), f.i64("add", begin, "%span")) as at:
            places = [f.i64("add", f.i64("add", at, k.pair), n) for n in (0, 8)]
            two = [[k.word(1, line, place, end) for place in places] for line in top]
            for i, each in enumerate(totals):
                one = [k.word(0, line, place, end) for place in places for line in left[2 * i : 2 * i + 2]]
                for b, total in zip(two, each, strict=True):
                    found = f.mma(of, one, b, [t.get() for t in total])
                    for t, x in zip(total, found, strict=True):
                        t.set(x)
        for i, each in enumerate(totals):
            for j, total in enumerate(each):
                for n, t in enumerate(total):

                    def write(place: str, t: Variable = t) -> None:
                        store(f, f.splat("float", t.get()), place, made)

                    down = f.i64("add", row, rows[2 * i + (n >> 1)])
                    right = f.i64("add", column, f.i64("add", k.pair, 8 * j + (n & 1)))
                    k.keep(down, right, write)
    return k.text()
