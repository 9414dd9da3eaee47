"""Running reductions along one dim: cumsum, cumprod, cummax, cummin, logcumsumexp, and diff."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.recording import decides
from rushlight._engine.core.results import named
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.indexing.along_dim import at_least_1d, refuse_wide
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

# Running sums are kept in the next wider type and rounded at each element, as PyTorch does.
_WIDER = {"float32": np.float64, "complex64": np.complex128, "float16": np.float32, "bfloat16": np.float32}


def _scan(op: str, a: Array, dim: int, result: dt.dtype | None) -> ArrayFunction:
    if result is None:
        result = dt.int64 if a.dtype.kind in "iub" else dt.from_numpy_dtype(a.dtype)
    if result is dt.bool_:
        raise NotImplementedError(f"\"cum{_UFUNCS[op][1]}_out_cpu\" not implemented for 'Bool'")
    if a.ndim and a.size:
        refuse_wide(f"cum{_UFUNCS[op][1]}_out_cpu", result.np)
    ufunc, d, shape, of = _UFUNCS[op][0], wrap_dim(dim, a.ndim), a.shape, result.np
    work = np.dtype(_WIDER.get(result.name, of))
    # Sums begin with 0, and are so never -0; NumPy's begin with the first element.
    from_zero = op == "add" and a.ndim and of.kind in "fcV"

    def run(a: Array) -> Array:
        if a.dtype != of:
            a = a.real.astype(of) if a.dtype.kind == "c" and of.kind != "c" else a.astype(of)
        out = np.empty(at_least_1d(a).shape, of)
        if work == of:
            ufunc.accumulate(at_least_1d(a), d, out=out)
        else:
            out[...] = (
                ufunc.accumulate(at_least_1d(a), d, dtype=work)
                if work.kind == "c" or (a.dtype.kind == "f")
                else ufunc.accumulate(at_least_1d(a).astype(work), d)
            )
        if from_zero:
            out += 0
        return out.reshape(shape)

    if not (a.ndim and a.dtype == of and of.char in "fd" and a.size and a.flags.c_contiguous):
        return run
    kernel = service("scan kernel")(op, _along(shape, d), result.name)

    def fast(a: Array) -> Array:
        out = np.empty(shape, of)
        return out if kernel.fn(a, out, d) else run(a)

    return fast


def _along(shape: tuple[int, ...], d: int) -> str:
    """How a kernel goes over a dense array."""
    return "columns" if d < len(shape) - 1 else "lines" if math.prod(shape[:-1]) <= _LINES else "rows"


_FEW = 64  # numbers, for which NumPy is sooner done
_LINES = 4  # rows that are done sooner one by one than beside each other in vectors
_UFUNCS = {"add": (np.add, "sum"), "mul": (np.multiply, "prod")}


def running_sums(a: Array) -> ArrayFunction:
    """The sums along the last axis of arrays that lie as `a`, kept in their own precision (32 or 64 bits)."""
    shape, of, last = a.shape, a.dtype, a.ndim - 1
    kernel = service("scan kernel")("add", _along(shape, last), of.name, of.name)

    def run(a: Array) -> Array:
        if a.size > _FEW and a.flags.c_contiguous and kernel.fn(a, out := np.empty(shape, of), last):
            return out
        return np.add.accumulate(a, -1, of)

    return run


# --- cumsum, cumprod ------------------------------------------------------------------------------


@opaque(inplace=True, out=True)
@resolved
def cumsum(input, dim: int, *, dtype: dtype | None = None) -> ArrayFunction:
    """The sums of the elements up to each one along dim; integers are added in int64."""
    return _scan("add", input, dim, dtype)


def _from_behind(t: Any, dim: int) -> Any:
    """The sums of the elements from each one on."""
    if not t.ndim:
        return t
    return t.flip((dim,)).cumsum(dim).flip((dim,))


cumsum.gradient(lambda s, grad: _from_behind(grad, s.dim))


@opaque(inplace=True, out=True)
@resolved
def cumprod(input, dim: int, *, dtype: dtype | None = None) -> ArrayFunction:
    """The products of the elements up to each one along dim."""
    return _scan("mul", input, dim, dtype)


@cumprod.gradient
def cumprod_gradient(s: Any, grad: Any) -> Any:
    x = s.input if s.input.dtype is grad.dtype else s.input.to(grad.dtype)
    if not x.ndim:
        return grad
    decides("cumprod's gradient")
    if x._geometry.size and not x._array.all():
        return _cumprod_with_zeros(grad, x, wrap_dim(s.dim, x.ndim))
    result = s.result
    if grad.is_complex():
        return _from_behind(grad * result.conj(), s.dim) / x.conj()
    return _from_behind(grad * result, s.dim) / x


def _cumprod_with_zeros(grad: Any, x: Any, d: int) -> Any:
    """Without division: for each element, the running products that leave it out, times grad."""
    x, grad = x.movedim(d, -1), grad.movedim(d, -1)
    n = x._geometry.shape[-1]
    own = np.eye(n, dtype=bool)
    rows = x.unsqueeze(-2).expand(*x._geometry.shape[:-1], n, n)
    without = rows.masked_fill(tensor_of(own), 1).cumprod(-1)
    reached = without.masked_fill(tensor_of(np.tril(np.ones((n, n), bool), -1)), 0)
    reached = reached.conj() if reached.is_complex() else reached
    return (reached * grad.unsqueeze(-2)).sum(-1).movedim(-1, d)


# --- cummax, cummin -------------------------------------------------------------------------------


def _running_extremes(ufunc: Any, how: str, a: Array, dim: int) -> ArrayFunction:
    """What gives running extremes and the latest position of each; the first nan stays."""
    made = named(f"cum{how}")
    if not a.size:  # whatever the dim
        return lambda a: made(a.copy(), np.empty(a.shape, np.int64))
    d = wrap_dim(dim, a.ndim)
    running: ArrayFunction | None = service("running extremes")(how, a, d)
    if running is not None:
        return lambda a: made(*running(a))
    steps = np.arange(a.shape[d] if a.ndim else 1).reshape([-1 if i == d else 1 for i in range(a.ndim or 1)])

    def run(a: Array) -> Any:
        source = at_least_1d(a)
        values = ufunc.accumulate(source, d)
        new = source == values
        if source.dtype.kind in "fV":
            new |= source != source
        indices = np.maximum.accumulate(np.where(new, steps, 0), d)
        return made(*[np.ascontiguousarray(found).reshape(a.shape) for found in (values, indices)])

    return run


def put_back(s: Any, grad: Any, _: Any = None) -> Any:
    """The gradient of (values, indices) picked along a dim: it goes to where they were picked."""
    shape, indices = s.shape("input"), s.result[1]
    if grad is None or not shape:
        return grad
    if not getattr(s, "keepdim", True):
        grad, indices = grad.unsqueeze(s.dim), indices.unsqueeze(s.dim)
    return grad.new_zeros(shape).scatter_add(s.dim, indices, grad)


@opaque(out=True, vjp=put_back)
@resolved
def cummax(input, dim: int) -> ArrayFunction:
    """The largest of the elements up to each one along dim, and where it is."""
    return _running_extremes(np.maximum, "max", input, dim)


@opaque(out=True, vjp=put_back)
@resolved
def cummin(input, dim: int) -> ArrayFunction:
    """The smallest of the elements up to each one along dim, and where it is."""
    return _running_extremes(np.minimum, "min", input, dim)


# --- logcumsumexp ---------------------------------------------------------------------------------


@opaque(out=True)
def logcumsumexp(input, dim: int) -> Array:
    """log of the running sums of exp(input) along dim, without overflow."""
    d = wrap_dim(dim, input.ndim)
    source = at_least_1d(input)
    if not input.size:
        result: Array = input.copy()
        return result
    if input.dtype.kind == "c":
        return _complex_logcumsumexp(source, d).astype(input.dtype).reshape(input.shape)
    work = source.astype(np.float32 if input.dtype.itemsize == 2 else input.dtype, copy=False)
    found = np.logaddexp.accumulate(work, d) + work.dtype.type(0)  # -0 becomes 0, as by a sum with log(1)
    return np.ascontiguousarray(found.astype(input.dtype, copy=False)).reshape(input.shape)


def _complex_logcumsumexp(a: Array, d: int) -> Array:
    """Step by step: larger + log1p(exp(smaller - larger)), which keeps the larger's angle."""
    wide = np.moveaxis(a.astype(np.complex128), d, 0)
    out = np.empty_like(wide)
    total: Any = np.full(wide.shape[1:], -np.inf, np.complex128)
    for i in range(len(wide)):
        out[i] = total = _logaddexp(wide[i], total)
    return np.ascontiguousarray(np.moveaxis(out, 0, d))


def _logaddexp(x: Array, total: Array) -> Array:
    """log(exp(x) + exp(total)) of complex numbers; infinities and NaN as PyTorch has them."""
    first = x.real < total.real
    low, high = np.where(first, x, total), np.where(first, total, x)
    apart = low - high
    found = np.log1p(np.where(np.isneginf(apart.real), 0, np.exp(apart))) + high
    alike = np.isinf(low.real) & (low.real == high.real)
    found = np.where(alike, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), found)
    return np.where(np.isnan(x) | np.isnan(total), complex(np.nan, np.nan), found)


@logcumsumexp.gradient
def logcumsumexp_gradient(s: Any, grad: Any) -> Any:
    x, result, dim = s.input, s.result, s.dim
    if not x.ndim or not x._geometry.size:
        return grad
    if grad.is_complex():
        return (_behind(grad.conj().log() - result, dim) + x).exp().conj()
    # In logarithms, apart for either sign, so that nothing overflows; the lowest number stands for
    # log(0), since infinities would make the second gradient nan.
    logs = grad.abs().log()
    low = float(np.finfo(np.float32 if x._geometry.itemsize < 4 else x._geometry.dtype).min)
    up = (_behind(logs.masked_fill(grad <= 0, low) - result, dim) + x).exp()
    down = (_behind(logs.masked_fill(grad >= 0, low) - result, dim) + x).exp()
    return up - down


def _behind(t: Any, dim: int) -> Any:
    """logcumsumexp from the end."""
    return t.flip((dim,)).logcumsumexp(dim).flip((dim,))


# --- diff -----------------------------------------------------------------------------------------


@composite(out=True, planned=True)
def diff(input, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None):
    """The n-th differences of neighbours along dim, with tensors put before and behind first."""
    if input.ndim < 1:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, input.ndim)
    for other in (prepend, append):
        _check_beside(input, other, d)
    if n == 0:
        return ROWS["clone"](input)
    parts = [t for t in (prepend, input, append) if t is not None]
    found = ROWS["cat"](parts, d) if len(parts) > 1 else input
    for _ in range(min(n, found._geometry.shape[d])):
        size = found._geometry.shape[d]
        behind, before = found.narrow(d, 1, size - 1), found.narrow(d, 0, size - 1)
        if found._kind.dtype is dt.bool_:
            found = behind.logical_xor(before)
        else:
            found = behind - before
    return found


def _check_beside(input: Any, other: Any, d: int) -> None:
    if other is None:
        return
    if other.ndim != input.ndim:
        raise RuntimeError(
            "diff expects prepend or append to be the same dimension as input, got "
            f"{other.ndim} and {input.ndim}"
        )
    for i, (n, m) in enumerate(zip(input._geometry.shape, other._geometry.shape, strict=True)):
        if i != d and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along "
                f"the differencing dimension; input.size({i}) = {n}, but got tensor.size({i}) = {m}"
            )
