"""Triangles of matrices: Householder's reflections, which make columns of doubles triangular, their products,
and Cholesky's decomposition.

Reflections are LAPACK's, to the sign; matrices of a batch go one after the other, and threads share a batch
out (ops/linalg/reflections.py puts blocks of columns together).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.products.elimination import KINDS, MOST, Spread, line, take_off, usual
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.kernels.runtime.abi import HEADER, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

Array = np.ndarray[Any, Any]
_OF, _KIND, _SIZE = "float64", "double", 8
_PARALLEL = 1 << 17  # steps of all matrices from which on threads share them out


def reflected(a: Array, factors: Array, start: int, stop: int, x: Array | None = None) -> bool:
    """Make columns `start` to `stop` of dense matrices a, (count, m, n), triangular by reflections, whose
    vectors stay below the diagonal, and whose factors (count, min(m, n)) are filled in; whether it was done.

    With x, (count, m, k), these reflections are applied to it instead, the last one first.
    """
    if not (usual(a) and a.dtype.char == "d" and 0 < stop - start <= MOST):
        return False
    found = a if x is None else x
    work = np.empty((len(a), found.shape[-1]))
    threads = parallel.get_num_threads() if found.size * (stop - start) >= _PARALLEL else 1
    _call(a.shape, found.shape[-1], start, stop, x is None)(threads, a, factors, found, work)
    return True


@lru_cache(maxsize=64)
def _call(shape: tuple[int, int, int], wide: int, start: int, stop: int, makes: bool) -> team.Call:
    count, rows, columns = shape
    each = max(1, _PARALLEL // (8 * rows * wide * (stop - start)))
    first = np.arange(0, count, each)
    jobs = np.empty((len(first), 11), np.int64)
    steps = rows * columns, min(rows, columns), rows * wide, wide
    jobs[:, :4] = first[:, None] * (np.array(steps) * _SIZE)
    jobs[:, 4] = np.minimum(each, count - first)
    jobs[:, 5:] = rows, columns, min(rows, columns), wide, start, stop
    loop = native.address(
        "reflections",
        f"{makes} {target.lanes(_OF)}",
        lambda module, name: _Reflections(module, name, makes).write(),
    )
    return team.Call(team.CallStage(loop, jobs, range(4), 4, np.zeros(1, np.int64)))


class _Reflections:
    """The IR. args: matrices, factors, x, a row of memory for each x. dims: how many, rows, columns, factors,
    columns of x, the columns from which on and up to which to go. makes: whether x is the matrices.
    """

    def __init__(self, module: Module, name: str, makes: bool) -> None:
        self.f = f = Function(module, HEADER.format(name))
        self.makes = makes
        for call, operands in (("fabs", 1), ("sqrt", 1), ("copysign", 2)):
            given = ", ".join([_KIND] * operands)
            module.declare(call, f"declare double @llvm.{call}.f64({given})")
        self.matrices, self.factors, self.x, self.works = (f.load("ptr", "%args", SLOT * k) for k in range(4))
        self.count, self.rows, columns, self.small, self.wide, self.first, self.until = (
            f.load("i64", "%dims", SLOT * k) for k in range(7)
        )
        self.line, self.line_x = (f.i64("mul", n, _SIZE) for n in (columns, self.wide))

    def write(self) -> None:
        """Matrix by matrix, column by column."""
        f = self.f
        steps = f.i64("sub", self.until, self.first)
        with f.counted(self.count) as number:
            a, factors, x, work = (
                f.at(p, f.i64("mul", number, step))
                for p, step in (
                    (self.matrices, f.i64("mul", self.rows, self.line)),
                    (self.factors, f.i64("mul", self.small, _SIZE)),
                    (self.x, f.i64("mul", self.rows, self.line_x)),
                    (self.works, self.line_x),
                )
            )
            with f.counted(steps) as step:
                if self.makes:
                    j = f.i64("add", self.first, step)
                    self._make(a, factors, j)
                else:
                    j = f.i64("sub", f.i64("sub", self.until, 1), step)
                factor = f.load(_KIND, factors, f.i64("mul", j, _SIZE))
                begin, end, least = (
                    (f.i64("add", j, 1), self.until, self.first) if self.makes else (j, self.wide, "0")
                )
                with f.when(f.op(f"fcmp une double {factor}, 0.0")):
                    self._apply(a, j, factor, x, work, begin, end, earlier(f, _OF, begin, end, least))
        close(f)

    def _place(self, a: str, i: str, j: str) -> str:
        return self.f.at(a, self.f.i64("add", self.f.i64("mul", i, self.line), self.f.i64("mul", j, _SIZE)))

    def _called(self, name: str, *operands: str) -> str:
        return self.f.op(f"call double @llvm.{name}.f64({', '.join(f'double {x}' for x in operands)})")

    def _make(self, a: str, factors: str, j: str) -> None:
        """The reflection that leaves column j's part below the diagonal nothing; its factor is 0 if there is
        nothing.
        """
        f, following = self.f, self.f.i64("add", j, 1)
        top = self._place(a, j, j)
        alpha, most = f.load(_KIND, top), f.var("0.0", _KIND)
        with f.loop(self.rows, following) as i:
            size = self._called("fabs", f.load(_KIND, self._place(a, i, j)))
            known = most.get()
            most.set(
                f.op(f"select i1 {f.op(f'fcmp ogt double {size}, {known}')}, double {size}, double {known}")
            )
        there = f.i64("mul", j, _SIZE)
        f.store(_KIND, "0.0", factors, there)
        below, own = most.get(), self._called("fabs", alpha)
        with f.when(f.op(f"fcmp ogt double {below}, 0.0")):
            larger = f.op(f"fcmp ogt double {own}, {below}")
            scale = f.op(f"select i1 {larger}, double {own}, double {below}")
            share = f.op(f"fdiv double {alpha}, {scale}")
            total = f.var(f.op(f"fmul double {share}, {share}"), _KIND)
            with f.loop(self.rows, following) as i:
                part = f.op(f"fdiv double {f.load(_KIND, self._place(a, i, j))}, {scale}")
                total.set(f.op(f"fadd double {total.get()}, {f.op(f'fmul double {part}, {part}')}"))
            length = f.op(f"fmul double {scale}, {self._called('sqrt', total.get())}")
            beta = f.op(f"fneg double {self._called('copysign', length, alpha)}")
            f.store(
                _KIND, f.op(f"fdiv double {f.op(f'fsub double {beta}, {alpha}')}, {beta}"), factors, there
            )
            divisor = f.op(f"fsub double {alpha}, {beta}")
            with f.loop(self.rows, following) as i:
                at = self._place(a, i, j)
                f.store(_KIND, f.op(f"fdiv double {f.load(_KIND, at)}, {divisor}"), at)
            f.store(_KIND, beta, top)

    def _apply(
        self, a: str, j: str, factor: str, x: str, work: str, after: str, end: str, begin: str
    ) -> None:
        """Take the reflection's share from x's columns: x - factor v (v^T x), of which v begins with 1.

        So that vectors are filled, nothing is taken from those from `begin` up to `after`.
        """
        f, following = self.f, self.f.i64("add", j, 1)
        own = f.at(x, f.i64("mul", j, self.line_x))
        for of, at in line(f, _KIND, begin, end):
            f.store(of, f.load(of, own, at), work, at)
        with f.loop(self.rows, following) as i:
            v, row = (
                Spread(f, _KIND, f.load(_KIND, self._place(a, i, j))),
                f.at(x, f.i64("mul", i, self.line_x)),
            )
            for of, at in line(f, _KIND, begin, end):
                term = f.op(f"fmul {of} {v.of[of]}, {f.load(of, row, at)}")
                f.store(of, f.op(f"fadd {of} {f.load(of, work, at)}, {term}"), work, at)
        with f.loop(after, begin) as k:
            f.store(_KIND, "0.0", work, f.i64("mul", k, _SIZE))
        spread = Spread(f, _KIND, factor)
        for of, at in line(f, _KIND, begin, end):
            scaled = f.op(f"fmul {of} {spread.of[of]}, {f.load(of, work, at)}")
            f.store(of, scaled, work, at)
            f.store(of, f.op(f"fsub {of} {f.load(of, own, at)}, {scaled}"), own, at)
        with f.loop(self.rows, following) as i:
            v = Spread(f, _KIND, f.load(_KIND, self._place(a, i, j)))
            take_off(f, _KIND, f.at(x, f.i64("mul", i, self.line_x)), v, work, begin, end)


# --- Cholesky's decomposition ---------------------------------------------------------------------


def rooted(u: Array) -> bool:
    """Replace the upper triangles of dense matrices (count, n, n) by U with U^T U = A, and what is below them
    by anything; whether all were positive-definite, and it was done.
    """
    if not (usual(u) and u.shape[-1] <= MOST):
        return False
    threads = parallel.get_num_threads() if u.size * u.shape[-1] >= _PARALLEL else 1
    bad = np.zeros(len(u), np.int64)
    _rooting("float32" if u.dtype.char == "f" else "float64", u.shape[:2])(threads, u, bad)
    return not bad.item(bad.argmax())


@lru_cache(maxsize=64)
def _rooting(of: str, shape: tuple[int, int]) -> team.Call:
    count, n = shape
    each = max(1, _PARALLEL // (8 * n * n * n))
    first = np.arange(0, count, each)
    jobs = np.empty((len(first), 4), np.int64)
    jobs[:, 0], jobs[:, 1] = first * (n * n * np.dtype(of).itemsize), first * 8
    jobs[:, 2], jobs[:, 3] = np.minimum(each, count - first), n
    loop = native.address("roots", f"{of} {target.lanes(of)}", lambda module, name: _root(module, name, of))
    return team.Call(team.CallStage(loop, jobs, range(2), 2, np.zeros(1, np.int64)))


def _root(module: Module, name: str, of: str) -> None:
    """The IR. args: matrices, 1 for each that is not positive-definite. dims: how many, rows."""
    f, kind, size = Function(module, HEADER.format(name)), KINDS[of], np.dtype(of).itemsize
    root = f"llvm.sqrt.f{8 * size}"
    module.declare("sqrt", f"declare {kind} @{root}({kind})")
    matrices, bad = (f.load("ptr", "%args", SLOT * k) for k in range(2))
    count, n = (f.load("i64", "%dims", SLOT * k) for k in range(2))
    row = f.i64("mul", n, size)
    with f.counted(count) as number:
        a = f.at(matrices, f.i64("mul", number, f.i64("mul", n, row)))
        with f.counted(n) as j:
            own, across = f.at(a, f.i64("mul", j, row)), f.i64("mul", j, size)
            pivot = f.load(kind, own, across)
            with f.when(f.op(f"fcmp ule {kind} {pivot}, 0.0")):
                f.store("i64", 1, bad, f.i64("mul", number, 8))
            divisor = Spread(f, kind, f.op(f"call {kind} @{root}({kind} {pivot})"))
            for of_type, at in line(f, kind, earlier(f, of, j, n, "0"), n):
                f.store(
                    of_type,
                    f.op(f"fdiv {of_type} {f.load(of_type, own, at)}, {divisor.of[of_type]}"),
                    own,
                    at,
                )
            with f.loop(n, f.i64("add", j, 1)) as i:
                factor = Spread(f, kind, f.load(kind, own, f.i64("mul", i, size)))
                take_off(f, kind, f.at(a, f.i64("mul", i, row)), factor, own, earlier(f, of, i, n, "0"), n)
    close(f)


def earlier(f: Function, of: str, begin: str, end: str, least: str) -> str:
    """From where on columns up to `end`, `begin` among them, fill vectors; it is not below `least`."""
    lanes = target.lanes(of)
    vectors = f.i64("udiv", f.i64("add", f.i64("sub", end, begin), lanes - 1), lanes)
    found = f.i64("sub", end, f.i64("mul", vectors, lanes))
    return f.op(f"select i1 {f.i64('icmp slt', found, least)}, i64 {least}, i64 {found}")
