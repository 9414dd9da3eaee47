"""Gauss' elimination of small matrices, one after the other: their LU decompositions with the largest pivots,
and equations with triangles.

Decompositions of matrices that are not wider than high have the bits of NumPy's operations, column by column,
for a whole batch (ops/linalg/lu.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

Array = np.ndarray[Any, Any]
# The most columns that are eliminated one by one; steps of all matrices from which on threads share them out.
MOST, _PARALLEL = 64, 1 << 17
KINDS = {"float32": "float", "float64": "double"}
_CHARS = {"f": "float32", "d": "float64"}
_NAMES = {kind: name for name, kind in KINDS.items()}


def eliminated(lu: Array, pivots: Array, info: Array, start: int = 0, stop: int | None = None) -> bool:
    """Decompose dense matrices (count, m, n) in place, as LAPACK's getrf packs them; whether it was done.

    pivots: (count, min(m, n)) and info: (count,), of int32; these are 0 before. With `stop`, only the columns
    from `start` on up to it, below row `start`: the others' rows are exchanged alike.
    """
    _, rows, columns = lu.shape
    until = columns if stop is None else stop
    small = min(rows, until) - start
    if not (usual(lu) and 0 < small <= MOST):
        return False
    threads = parallel.get_num_threads() if lu.size * small >= _PARALLEL else 1
    _call(_CHARS[lu.dtype.char], lu.shape, start, until)(threads, lu, pivots, info)
    return True


def substituted(a: Array, x: Array, upper: bool, unit: bool) -> bool:
    """Replace x, (count, n, k), by what a triangle of matrices a, (count, n, n), makes it of; whether it was
    done. Rows of both are dense. unit: the diagonal counts as ones.
    """
    _, n, wide = x.shape
    dense = a.strides[-1] == x.strides[-1] == x.itemsize
    if not (usual(x) and a.dtype is x.dtype and 0 < n <= MOST and wide and dense):
        return False
    threads = parallel.get_num_threads() if x.size * n >= _PARALLEL else 1
    _substitution(_CHARS[x.dtype.char], x.shape, a.strides[:2], x.strides[:2], upper, unit)(threads, a, x)
    return True


def usual(a: Array) -> bool:
    known = a.dtype.char in "fd" and a.size and settings.kernels != "numpy"
    return bool(known and target.available() and team.possible())


@lru_cache(maxsize=64)
def _substitution(of: str, shape: Any, steps_a: Any, steps_x: Any, upper: bool, unit: bool) -> team.Call:
    count, n, wide = shape
    each = max(1, _PARALLEL // (8 * n * n * wide))
    first = np.arange(0, count, each)
    jobs = np.empty((len(first), 9), np.int64)
    jobs[:, 0], jobs[:, 1] = first * steps_a[0], first * steps_x[0]
    jobs[:, 2], jobs[:, 3:] = np.minimum(each, count - first), (n, wide, *steps_a, *steps_x)
    loop = native.address(
        "substitution",
        f"{of} {upper} {unit} {target.lanes(of)}",
        lambda module, name: _substitute(module, name, of, upper, unit),
    )
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


def _substitute(module: Module, name: str, of: str, upper: bool, unit: bool) -> None:
    """The IR. args: matrices, x. dims: how many, rows, columns of x, bytes from matrix to matrix and from row
    to row of both.
    """
    f, kind, size = Function(module, HEADER.format(name)), KINDS[of], np.dtype(of).itemsize
    a, x = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    count, n, wide, of_a, line_a, of_x, line_x = (f.load("i64", "%dims", SLOT * k) for k in range(7))

    def place(k: str) -> str:
        return f.i64("sub", f.i64("sub", n, 1), k) if upper else k

    with f.counted(count) as number:
        matrix, found = f.at(a, f.i64("mul", number, of_a)), f.at(x, f.i64("mul", number, of_x))
        with f.counted(n) as step:
            i = place(step)
            own, across = f.at(found, f.i64("mul", i, line_x)), f.i64("mul", i, size)
            if not unit:
                pivot = Spread(f, kind, f.load(kind, f.at(matrix, f.i64("mul", i, line_a)), across))
                for of_type, bytes_ in line(f, kind, "0", wide):
                    at = f.at(own, bytes_)
                    quotient = f.op(f"fdiv {of_type} {f.load(of_type, at)}, {pivot.of[of_type]}")
                    f.store(of_type, quotient, at)
            with f.loop(n, f.i64("add", step, 1)) as later:
                r = place(later)
                factor = Spread(f, kind, f.load(kind, f.at(matrix, f.i64("mul", r, line_a)), across))
                take_off(f, kind, f.at(found, f.i64("mul", r, line_x)), factor, own, "0", wide)
    close(f)


class Spread:
    """A number as operand of the types of `line`."""

    def __init__(self, f: Function, kind: str, scalar: str) -> None:
        vector = _vector(kind)
        one = f.op(f"insertelement {vector} poison, {kind} {scalar}, i64 0")
        zeros = f"<{target.lanes(_NAMES[kind])} x i32> zeroinitializer"
        spread = f.op(f"shufflevector {vector} {one}, {vector} poison, {zeros}")
        self.of = {kind: scalar, vector: spread}


def _vector(kind: str) -> str:
    return f"<{target.lanes(_NAMES[kind])} x {kind}>"


def line(f: Function, kind: str, begin: str, end: str) -> Iterator[tuple[str, str]]:
    """(type, byte offset) to write code for: vectors of the elements from begin to end, then what is left."""
    lanes, size = target.lanes(_NAMES[kind]), np.dtype(_NAMES[kind]).itemsize
    whole = f.i64("udiv", f.i64("sub", end, begin), lanes)
    with f.counted(whole) as k:
        yield _vector(kind), f.i64("mul", f.i64("add", begin, f.i64("mul", k, lanes)), size)
    rest = f.i64("add", begin, f.i64("mul", whole, lanes))
    with f.counted(f.i64("sub", end, rest)) as k:
        yield kind, f.i64("mul", f.i64("add", rest, k), size)


def take_off(f: Function, kind: str, own: str, factor: Spread, other: str, begin: str, end: str) -> None:
    """Take `factor` times another line from a line."""
    for of, bytes_ in line(f, kind, begin, end):
        term = f.op(f"fmul {of} {factor.of[of]}, {f.load(of, other, bytes_)}")
        at = f.at(own, bytes_)
        f.store(of, f.op(f"fsub {of} {f.load(of, at)}, {term}"), at)


@lru_cache(maxsize=64)
def _call(of: str, shape: tuple[int, int, int], start: int, stop: int) -> team.Call:
    count, rows, columns = shape
    small, size = min(rows, columns), np.dtype(of).itemsize
    each = max(1, _PARALLEL // (8 * rows * columns * (stop - start)))
    first = np.arange(0, count, each)
    jobs = np.empty((len(first), 9), np.int64)
    jobs[:, 0] = first * (rows * columns * size)
    jobs[:, 1], jobs[:, 2] = first * (small * 4), first * 4
    jobs[:, 3], jobs[:, 4:] = np.minimum(each, count - first), (rows, columns, small, start, stop)
    return team.Call(team.CallStage(_loop(of), jobs, range(3), 3, np.zeros(1, np.int64)))


@cache
def _loop(of: str) -> int:
    return native.address(
        "elimination", f"{of} {target.lanes(of)}", lambda module, name: _Elimination(module, name, of).write()
    )


class _Elimination:
    """The IR. args: matrices, pivots, infos. dims: how many, rows, columns, the smaller of these, the columns
    from which on and up to which to eliminate.
    """

    def __init__(self, module: Module, name: str, of: str) -> None:
        self.kind, self.size = KINDS[of], np.dtype(of).itemsize
        self.f = f = Function(module, HEADER.format(name))
        self.absolute = f"@llvm.fabs.f{8 * self.size}"
        module.declare(self.absolute, f"declare {self.kind} {self.absolute}({self.kind})")
        module.declare("smin", "declare i64 @llvm.smin.i64(i64, i64)")
        self.matrices, self.pivots, self.infos = (f.load("ptr", "%args", SLOT * k) for k in range(3))
        self.count, self.rows, self.columns, self.small, self.first, self.until = (
            f.load("i64", "%dims", SLOT * k) for k in range(6)
        )
        self.line = f.i64("mul", self.columns, self.size)

    def write(self) -> None:
        """Matrix by matrix, column by column."""
        f = self.f
        whole = f.i64("mul", self.rows, self.line)
        last = f.op(f"call i64 @llvm.smin.i64(i64 {self.small}, i64 {self.until})")
        with f.counted(self.count) as number:
            a = f.at(self.matrices, f.i64("mul", number, whole))
            first = f.i64("mul", number, self.small)
            with f.loop(last, self.first) as j:
                best = self._largest(a, j)
                place = f.op(f"trunc i64 {f.i64('add', best, 1)} to i32")
                f.store("i32", place, self.pivots, f.i64("mul", f.i64("add", first, j), 4))
                top, chosen = (f.at(a, f.i64("mul", i, self.line)) for i in (j, best))
                with f.when(f.i64("icmp ne", best, j)):
                    self._swap(top, chosen)
                self._eliminate(a, top, j, self._pivot(top, j, f.i64("mul", number, 4)))
        close(f)

    def _at(self, line: str, k: str) -> str:
        return self.f.at(line, self.f.i64("mul", k, self.size))

    def _largest(self, a: str, j: str) -> str:
        """The row of column j's largest element, or of its first NaN, from row j on."""
        f, kind = self.f, self.kind
        place, most = f.var(j), f.var("0xBFF0000000000000", kind)  # -1
        with f.loop(self.rows, j) as i:
            element = f.load(kind, self._at(f.at(a, f.i64("mul", i, self.line)), j))
            value, known = f.op(f"call {kind} {self.absolute}({kind} {element})"), most.get()
            larger, number = (
                f.op(f"fcmp ugt {kind} {value}, {known}"),
                f.op(f"fcmp ord {kind} {known}, {known}"),
            )
            with f.when(f.op(f"and i1 {larger}, {number}")):
                place.set(i)
                most.set(value)
        return place.get()

    def _swap(self, one: str, other: str) -> None:
        f = self.f
        for of, bytes_ in line(f, self.kind, "0", self.columns):
            p, q = f.at(one, bytes_), f.at(other, bytes_)
            first, second = f.load(of, p), f.load(of, q)
            f.store(of, second, p)
            f.store(of, first, q)

    def _pivot(self, top: str, j: str, info: str) -> str:
        """What to divide by: 1 in the place of 0, which is noted."""
        f, kind = self.f, self.kind
        found = f.load(kind, self._at(top, j))
        nothing = f.op(f"fcmp oeq {kind} {found}, 0.0")
        with f.when(nothing):
            known = f.load("i32", self.infos, info)
            here = f.op(f"trunc i64 {f.i64('add', j, 1)} to i32")
            fresh = f.op(f"icmp eq i32 {known}, 0")
            f.store("i32", f.op(f"select i1 {fresh}, i32 {here}, i32 {known}"), self.infos, info)
        return f.op(f"select i1 {nothing}, {kind} 1.0, {kind} {found}")

    def _eliminate(self, a: str, top: str, j: str, pivot: str) -> None:
        """Take multiples of row j from the rows below."""
        f, kind, following = self.f, self.kind, self.f.i64("add", j, 1)
        with f.loop(self.rows, following) as i:
            line = f.at(a, f.i64("mul", i, self.line))
            factor = f.op(f"fdiv {kind} {f.load(kind, self._at(line, j))}, {pivot}")
            f.store(kind, factor, self._at(line, j))
            take_off(f, kind, line, Spread(f, kind, factor), top, following, self.until)
