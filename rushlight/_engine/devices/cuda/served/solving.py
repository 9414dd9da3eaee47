"""Linear algebra by cuSOLVER on real devices; a simulated one lets the host's LAPACK compute it.

Real matrices of float32 and float64; equations, inverses, factors and general eigenvalues of complex ones,
too. Results lie column by column, as the CPU's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import LinAlgError
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.driver import solver
from rushlight._engine.devices.cuda.kernels import complexes, launches, lines
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions, moves
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import m, symbol

_REALS = ("float32", "float64")
_INFO = np.dtype(np.int32)
Columns = tuple[DeviceArray, DeviceArray]  # (matrices, what was found of each)


def _solver(backend: Any, *operands: DeviceArray, complexes_too: bool = False) -> Any:
    """The device's cuSOLVER; NotServed where the host computes, or for other dtypes."""
    if backend.simulated:
        raise NotServed("a library call")
    backend.unkept()  # each call asks cuSOLVER
    if any([a.dtype.name not in (solver.KINDS if complexes_too else _REALS) for a in operands]):
        raise NotServed("linear algebra of complex matrices, or of half precision")
    if not all([a.size for a in operands]):
        raise NotServed("matrices without elements")
    return backend.solver


def _steps(lead: tuple[int, ...], rows: int, columns: int, item: int) -> tuple[int, ...]:
    """Strides in bytes of matrices that lie column by column."""
    steps, step = [item, rows * item], rows * columns * item
    for n in reversed(lead):
        steps.insert(0, step)
        step *= n
    return tuple(steps)


def _columns(backend: Any, a: DeviceArray, lead: tuple[int, ...] | None = None) -> DeviceArray:
    """A copy whose matrices lie column by column, broadcast to batch dims."""
    rows, columns = a.shape[-2:]
    lead = a.shape[:-2] if lead is None else lead
    made: DeviceArray = backend.empty(
        (*lead, rows, columns), a.dtype, _steps(lead, rows, columns, a.itemsize), poison=False
    )
    launches.convert(backend, made, a)
    return made


def _each(lead: tuple[int, ...], *arrays: tuple[DeviceArray, int]) -> Iterator[list[int]]:
    """For each matrix of a batch the addresses of its parts of arrays: (array, dims of a part)."""
    for place in np.ndindex(*lead):
        yield [
            a.address + sum([k * s for k, s in zip(place, a.strides[: a.ndim - dims], strict=True)])
            for a, dims in arrays
        ]


def _numbers(backend: Any, lead: tuple[int, ...], count: int, of: Any) -> DeviceArray:
    """Room for `count` numbers of each matrix."""
    made: DeviceArray = backend.empty((*lead, count), np.dtype(of), poison=False)
    return made


def _infos(backend: Any, lead: tuple[int, ...]) -> DeviceArray:
    made: DeviceArray = backend.empty(lead, _INFO, poison=False)
    return made


def _triangle(backend: Any, a: DeviceArray, upper: bool, diagonal: int = 0) -> DeviceArray:
    """The triangle of matrices that lie column by column, laid out so."""
    served = moves.ROWS["tril" if upper else "triu"]
    found: DeviceArray = served(backend, a.swapaxes(-1, -2), -diagonal).swapaxes(-1, -2)
    return found


def _diagonal(a: DeviceArray) -> DeviceArray:
    *lead, down, right = a.strides
    return a.relaid((*a.shape[:-2], min(a.shape[-2:])), (*lead, down + right))


def _cholesky(backend: Any, a: DeviceArray, upper: bool) -> Columns:
    library, lead, n = _solver(backend, a), a.shape[:-2], a.shape[-1]
    made, info = _columns(backend, a), _infos(backend, lead)
    side = solver.UPPER if upper else solver.LOWER
    room, size = library.room("potrf", a.dtype, side, n, made.address, n)
    for matrix, status in _each(lead, (made, 2), (info, 0)):
        library.call("potrf", a.dtype, side, n, matrix, n, room.address, size, status)
    return _triangle(backend, made, upper), info


def _factored(backend: Any, library: Any, a: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """(both factors in one, pivots counted from 1, info)."""
    lead, (rows, columns) = a.shape[:-2], a.shape[-2:]
    made, info = _columns(backend, a), _infos(backend, lead)
    pivots = _numbers(backend, lead, min(rows, columns), _INFO)
    room, _ = library.room("getrf", a.dtype, rows, columns, made.address, rows)
    for matrix, swaps, status in _each(lead, (made, 2), (pivots, 1), (info, 0)):
        library.call("getrf", a.dtype, rows, columns, matrix, rows, room.address, swaps, status)
    return made, pivots, info


def _lu_factor(backend: Any, a: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    return _factored(backend, _solver(backend, a, complexes_too=True), a)


def _substituted(
    backend: Any, library: Any, lu: DeviceArray, pivots: DeviceArray, made: DeviceArray, how: int
) -> None:
    """Solve in place, for as many factors as right sides, or for one's."""
    n, wide, status = lu.shape[-1], made.shape[-1], _infos(backend, ())
    lead = made.shape[:-2]
    steps = (0,) * (len(lead) - lu.ndim + 2)
    own = [0 if size == 1 else s for size, s in zip(lu.shape[:-2], lu.strides[:-2], strict=True)]
    swaps = [0 if size == 1 else s for size, s in zip(pivots.shape[:-1], pivots.strides[:-1], strict=True)]
    factors = lu.relaid((*lead, n, n), (*steps, *own, *lu.strides[-2:]))
    order = pivots.relaid((*lead, n), (*steps, *swaps, pivots.strides[-1]))
    for matrix, by, right in _each(lead, (factors, 2), (order, 1), (made, 2)):
        library.call("getrs", made.dtype, how, n, wide, matrix, n, by, right, n, status.address)


def _spoiled(backend: Any, x: DeviceArray, info: DeviceArray) -> None:
    """nan where a matrix is singular."""
    flags = info.relaid((*info.shape, 1, 1), (*info.strides, 0, 0))
    for part in complexes.split(x):
        of = dt.from_numpy_dtype(part.dtype).name
        launches.into(backend, _spoiling(of), (part, flags, np.asarray(np.nan, part.dtype)), (part,), "solve")


@cache
def _spoiling(of: str) -> Meaning:
    root = m.where(m.gt(symbol("info"), 0), symbol("nan"), symbol("x"))
    return Meaning((root,), (("x", of), ("info", "int32"), ("nan", of)), (of,), of)


def _solve(backend: Any, a: DeviceArray, b: DeviceArray) -> Columns:
    library = _solver(backend, a, b, complexes_too=True)
    lu, pivots, info = _factored(backend, library, a)
    made = _columns(backend, b, np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    _substituted(backend, library, lu, pivots, made, solver.PLAIN)
    _spoiled(backend, made, info)
    return made, info


def _inverse(backend: Any, a: DeviceArray) -> Columns:
    library = _solver(backend, a, complexes_too=True)
    lu, pivots, info = _factored(backend, library, a)
    made: DeviceArray = backend.empty(a.shape, a.dtype, lu.strides, poison=False)
    made.fill(0)
    _diagonal(made).fill(1)
    _substituted(backend, library, lu, pivots, made, solver.PLAIN)
    _spoiled(backend, made, info)
    return made, info


def _solve_triangular(backend: Any, a: DeviceArray, b: DeviceArray, upper: bool, unit: bool) -> DeviceArray:
    """By factors that are known: a lower triangle is an upper one, transposed."""
    library, n = _solver(backend, a, b), a.shape[-1]
    turned = a if upper else a.swapaxes(-1, -2)
    lu = _triangle(backend, _columns(backend, turned), True, int(unit))
    if unit:
        _diagonal(lu).fill(1)
    made = _columns(backend, b, np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    pivots = _numbers(backend, (), n, _INFO)
    backend.copy(pivots, np.arange(1, n + 1, dtype=np.int32), False, False)
    order = pivots.relaid((*a.shape[:-2], n), (*[0] * (a.ndim - 2), pivots.strides[0]))
    _substituted(backend, library, lu, order, made, solver.PLAIN if upper else solver.TRANSPOSED)
    return made


def _qr(backend: Any, a: DeviceArray, mode: str) -> Columns:
    library, lead, (rows, columns) = _solver(backend, a), a.shape[:-2], a.shape[-2:]
    small = min(rows, columns)
    wide = rows if mode == "complete" else small
    packed, scales = _columns(backend, a), _numbers(backend, lead, small, a.dtype)
    status = _infos(backend, ()).address
    room, size = library.room("geqrf", a.dtype, rows, columns, packed.address, rows)
    for matrix, tau in _each(lead, (packed, 2), (scales, 1)):
        library.call("geqrf", a.dtype, rows, columns, matrix, rows, tau, room.address, size, status)
    q: DeviceArray = backend.empty(
        (*lead, rows, wide), a.dtype, _steps(lead, rows, wide, a.itemsize), poison=False
    )
    launches.convert(backend, q[..., :small], packed[..., :small])
    room, size = library.room("orgqr", a.dtype, rows, wide, small, q.address, rows, scales.address)
    for matrix, tau in _each(lead, (q, 2), (scales, 1)):
        library.call("orgqr", a.dtype, rows, wide, small, matrix, rows, tau, room.address, size, status)
    return q, _triangle(backend, _columns(backend, packed[..., :wide, :]), True)


def _settled(backend: Any, op: str, info: DeviceArray, what: str) -> None:
    """LinAlgError where an algorithm did not converge, which the host waits for."""
    status = backend.read(info).reshape(-1)
    wrong = np.flatnonzero(status)
    if wrong.size:
        where = f"(Batch element {int(wrong[0])}): " if info.ndim else ""
        raise LinAlgError(
            f"{op}: {where}The algorithm failed to converge because the input matrix is "
            f"ill-conditioned or has too many repeated {what} (error code: {int(status[wrong[0]])})."
        )


def _spectrum(backend: Any, a: DeviceArray, uplo: str, vectors: bool) -> Columns:
    library, lead, n = _solver(backend, a), a.shape[:-2], a.shape[-1]
    made, values, info = _columns(backend, a), _numbers(backend, lead, n, a.dtype), _infos(backend, lead)
    how = (int(vectors), solver.LOWER if uplo in "Ll" else solver.UPPER, n)
    room, size = library.room("syevd", a.dtype, *how, made.address, n, values.address)
    for matrix, found, status in _each(lead, (made, 2), (values, 1), (info, 0)):
        library.call("syevd", a.dtype, *how, matrix, n, found, room.address, size, status)
    _settled(backend, "linalg.eigh", info, "eigenvalues")
    return values, made


def _eigh(backend: Any, a: DeviceArray, uplo: str) -> Columns:
    return _spectrum(backend, a, uplo, True)


def _eigvalsh(backend: Any, a: DeviceArray, uplo: str) -> DeviceArray:
    return _spectrum(backend, a, uplo, False)[0]


def _general(backend: Any, a: DeviceArray, vectors: bool) -> Columns:
    """Eigenvalues, and eigenvectors if they are asked for, of any square matrices: complex numbers."""
    if backend.simulated:
        raise NotServed("a library call")
    backend.unkept()
    of = a.dtype.name
    if of not in solver.KINDS or not a.size:
        raise NotServed(f"eigenvalues of matrices of {of}, or without elements")
    lead, n, wide = a.shape[:-2], a.shape[-1], np.dtype(np.result_type(a.dtype, np.complex64))
    work, info = _columns(backend, a), _infos(backend, lead)
    values = _numbers(backend, lead, n, wide)
    # A column before the vectors and one behind them: so each has neighbours.
    shape = (*lead, n, n + 2)
    room: DeviceArray = backend.empty(shape, a.dtype, _steps(lead, n, n + 2, a.itemsize), poison=False)
    before, own, behind = (room[..., k : k + n] for k in range(3))
    places = list(_each(lead, (work, 2), (values, 1), (own, 2), (info, 0)))
    backend.solver.general(a.dtype, n, places, vectors)
    _settled(backend, "linalg.eig", info, "eigenvalues")
    if a.dtype.kind == "c":
        return values, _columns(backend, own)
    made: DeviceArray = backend.empty(a.shape, wide, _steps(lead, n, n, wide.itemsize), poison=False)
    if vectors:
        _, imaginary = complexes.split(values)
        given = (before, own, behind, imaginary[..., None, :])
        launches.into(
            backend, _unpacked(dt.from_numpy_dtype(a.dtype).name), given, complexes.split(made), "eig"
        )
    return values, made


@cache
def _unpacked(of: str) -> Meaning:
    """A column of eigenvectors (its real and its imaginary part) of how cuSOLVER and LAPACK pack them."""
    before, own, behind, imaginary = (symbol(n) for n in ("before", "own", "behind", "imaginary"))
    first, second = m.gt(imaginary, 0), m.lt(imaginary, 0)
    real = m.where(second, before, own)
    other = m.where(first, behind, m.where(second, -own, own - own))
    names = ("before", "own", "behind", "imaginary")
    return Meaning((real, other), tuple([(n, of) for n in names]), (of, of), of)


def _eig(backend: Any, a: DeviceArray) -> Columns:
    return _general(backend, a, True)


def _eigvals(backend: Any, a: DeviceArray) -> DeviceArray:
    return _general(backend, a, False)[0]


def _singular(backend: Any, a: DeviceArray, job: str) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """(U, S, V^T) of tall matrices; job: "A" all vectors, "S" as many as values, "N" none."""
    library, lead, (rows, columns) = _solver(backend, a), a.shape[:-2], a.shape[-2:]
    made, values, info = (
        _columns(backend, a),
        _numbers(backend, lead, columns, a.dtype),
        _infos(backend, lead),
    )
    wide = rows if job == "A" else columns
    shapes = ((rows, wide), (columns, columns)) if job != "N" else ((1, 1), (1, 1))
    left, right = (
        backend.empty((*lead, *s), a.dtype, _steps(lead, *s, a.itemsize), poison=False) for s in shapes
    )
    room, size = library.room("gesvd", a.dtype, rows, columns)
    jobs = ord(job), ord("N" if job == "N" else "A")
    parts = ((made, 2), (values, 1), (left, 2), (right, 2), (info, 0))
    for matrix, found, u, v, status in _each(lead, *parts):
        library.call(
            "gesvd", a.dtype, *jobs, rows, columns, matrix, rows, found, u, rows, v, columns, room.address,
            size, 0, status,
        )  # fmt: skip
    _settled(backend, "linalg.svd", info, "singular values")
    return left, values, right


def _svd(backend: Any, a: DeviceArray, full_matrices: bool) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    job = "A" if full_matrices else "S"
    if a.shape[-2] >= a.shape[-1]:
        return _singular(backend, a, job)
    right, values, left = _singular(backend, a.swapaxes(-1, -2), job)
    return tuple(
        [_columns(backend, left.swapaxes(-1, -2)), values, _columns(backend, right.swapaxes(-1, -2))]
    )  # type: ignore[return-value]


def _svdvals(backend: Any, a: DeviceArray) -> DeviceArray:
    tall = a.shape[-2] >= a.shape[-1]
    return _singular(backend, a if tall else a.swapaxes(-1, -2), "N")[1]


def _pivot_order(backend: Any, pivots: DeviceArray, rows: int, inverse: bool) -> DeviceArray:
    """The order of rows after the swaps of a factorisation; where each row goes, if inverse."""
    lead, swaps = pivots.shape[:-1], pivots.shape[-1]
    made: DeviceArray = backend.empty((*lead, rows), np.dtype(np.int64), poison=False)
    if made.size:
        given = launches.contiguous(backend, pivots)
        count = math.prod(lead)
        source = Source(lines.orders_of_pivots, (inverse,), 2, 3)
        backend.launch(source, backend.grid(count), (given,), (made,), [count, swaps, rows], "pivots")
    return made


# --- determinants -----------------------------------------------------------------------------------


@cache
def _factor(of: str) -> Meaning:
    """An element of U's diagonal, with the sign of its row's swap."""
    d, pivot, row = symbol("d"), symbol("pivot"), symbol("row")
    root = m.where(m.eq(m.cast(pivot, arg="int64"), row + 1), d, -d)
    return Meaning((root,), (("d", of), ("pivot", "int32"), ("row", "int64")), (of,), of)


@cache
def _parts(of: str) -> tuple[Meaning, Meaning]:
    """A number's sign, and the logarithm of its size."""
    x = symbol("x")
    sign = m.where(m.gt(x, 0), 1, m.where(m.lt(x, 0), -1, x))  # nan stays
    one, two = (Meaning((root,), (("x", of),), (of,), of) for root in (sign, m.log(m.abs(x))))
    return one, two


def _factors(backend: Any, a: DeviceArray) -> DeviceArray:
    """Numbers whose product is the determinant."""
    lu, pivots, _ = _factored(backend, _solver(backend, a), a)
    diagonal = _diagonal(lu)
    made: DeviceArray = backend.empty(diagonal.shape, a.dtype, poison=False)
    meaning, axes = _factor(dt.from_numpy_dtype(a.dtype).name), (("row", diagonal.ndim - 1),)
    launches.by_coordinates(backend, meaning, (diagonal, pivots), (made,), "det", axes=axes)
    return made


def _det(backend: Any, a: DeviceArray) -> DeviceArray:
    found: DeviceArray = functions.FUNCTIONS[np.multiply.reduce](backend, _factors(backend, a), axis=-1)
    return found


def _slogdet(backend: Any, a: DeviceArray) -> Columns:
    factors = _factors(backend, a)
    made = []
    for meaning, reduce in zip(_parts(dt.from_numpy_dtype(a.dtype).name), (np.multiply, np.add), strict=True):
        each = backend.empty(factors.shape, a.dtype, poison=False)
        launches.into(backend, meaning, (factors,), (each,), "slogdet")
        made.append(functions.FUNCTIONS[reduce.reduce](backend, each, axis=-1))
    return made[0], made[1]


ROWS: dict[str, Callable[..., Any]] = {
    "_cholesky": _cholesky,
    "_lu_factor": _lu_factor,
    "_solve": _solve,
    "_inverse": _inverse,
    "_solve_triangular": _solve_triangular,
    "_qr": _qr,
    "_eigh": _eigh,
    "_eigvalsh": _eigvalsh,
    "_eig": _eig,
    "_eigvals": _eigvals,
    "_svd": _svd,
    "_svdvals": _svdvals,
    "_det": _det,
    "_pivot_order": _pivot_order,
    "_slogdet": _slogdet,
}
