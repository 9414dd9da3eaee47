"""Statistics over dims: variance, norms, extremes, products, equality."""

from __future__ import annotations

from functools import cache
from math import inf, prod as prod_of
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import opmath
from rushlight._engine.core.errors import check_size, wrap_dim, wrap_dims
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.core.recording import fusing
from rushlight._engine.core.results import named
from rushlight._engine.core.services import service
from rushlight._engine.ops import forms
from rushlight._engine.ops.expressions import Expr, m, symbol
from rushlight._engine.ops.indexing.along_dim import at_least_1d, few_along
from rushlight._engine.ops.linalg.matmul import is_low_precision
from rushlight._engine.ops.monoid import Reduction
from rushlight._engine.ops.ordering.sorting import pick
from rushlight._engine.ops.reductions.reductions import amax, amin, mean, sum, with_dims
from rushlight._engine.ops.reductions.scanning import put_back
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.row_expressions import extent, reduce_
from rushlight._engine.ops.row_kernels import SUMMED, RowKernel
from rushlight._engine.ops.table import ROWS, Array, composite, opaque, pointwise, reduce


@composite
def allclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """Whether all elements are close, as a bool: |input - other| <= atol + rtol |other|; equal_nan: nan
    equals nan.
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite(planned=True)
def count_nonzero(input, dim: Ints | None = None):
    """The number of elements that are not 0."""
    return (input != 0).sum(dim)


@composite(planned=True)
def dist(input, other, p: Number = 2):
    """The norm of input - other."""
    return vector_norm(input - other, p)


@composite(where=("torch", "nn.functional"), planned=True)
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False):
    """The p-norm of x1 - x2 + eps along the last dim."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@composite(out=True, planned=True)
def prod(input, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The product of all elements, or along one dim."""
    return ROWS["_prod"](input, dim, keepdim, dtype=dtype)


@composite(out=True, planned=True)
def nanmean(input, dim: Ints | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """The mean of what is not nan."""
    return ROWS["nansum"](input, dim, keepdim, dtype=dtype) / (~input.isnan()).sum(dim, keepdim)


abs_ = ROWS["abs"]


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise TypeError(
            f"unbiased and correction do not go together; {forms.how_called('var', ROWS['var'].params)}"
        )
    if correction is None:
        return 0 if unbiased is False else 1
    return correction


def _squares(name: str, input: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim  # var(False): over all elements
    axes = wrap_dims(dim, input.ndim)
    center, total = distances(input, axes, keepdim)
    freedom = max(prod_of([input.shape[i] for i in axes]) - _correction(unbiased, correction), 0)
    if not freedom:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
            "factor (input numel divided by output numel).",
            UserWarning,
        )
    found = total * (1.0 / freedom) if freedom else total / 0.0
    return found, center if keepdim else center.reshape(found.shape)


def distances(input: Any, axes: tuple[int, ...], keepdim: bool = True) -> tuple[Any, Any]:
    """(the mean over dims, which are kept; the sum of squared distances from it), in the dtype of the
    arithmetic.
    """
    last = input.ndim - 1
    if last in axes and input.dtype.is_floating_point and (input.shape[last] >= (_ROW if axes[1:] else 2)):
        center, total = _row_distances(input)
        rest = tuple(i for i in axes if i != last)
        if not rest:
            return center, total if keepdim else total.squeeze(last)
        # Rows are of one length, so the mean of their means is the mean.
        whole, apart = distances(center, rest)
        total = total.sum(rest, True) + apart * input.shape[last]
        return whole, total if keepdim else total.squeeze(axes)
    center = mean(input, axes or None, True, dtype=opmath(input.dtype))
    return center, _squares_apart(input, center, axes, keepdim)


@composite(name="_squares_apart", where=("aten",))
def _squares_apart(input, center, dim: Ints, keepdim: bool):
    """The sums over dims of squared distances from a center."""
    apart = input - center
    size = apart * apart if not input.dtype.is_complex else (apart * apart.conj()).real
    return sum(size, dim or None, keepdim)


@_squares_apart.kernel
def _squares_apart_kernel(a: Array, center: Array, dim: tuple[int, ...], keepdim: bool) -> Any:
    rest = a.shape[len(dim) :]
    # A program that is being recorded fuses the parts.
    if (
        fusing()
        or a.size < SUMMED
        or not in_columns(a.dtype, center.dtype)
        or not a.flags.c_contiguous
        or not (rest and sorted(dim) == [*range(len(dim))])
    ):
        return NotImplemented
    return (
        column_squares(a.dtype, center.dtype)
        .large(a.reshape(-1, prod_of(rest)), center.reshape(-1))
        .reshape(center.shape if keepdim else rest)
    )


_X, _CENTER = symbol("x"), symbol("center")


def in_columns(of: Any, sums: Any) -> bool:
    """Whether kernels add up columns of what is stored in a dtype in another: in float64 itself, or in
    float32, also of halves.
    """
    return sums.char in "fd" and (of == sums or (sums.char == "f" and of.name in ("float16", "bfloat16")))


@cache
def column_squares(of: Any, sums: Any) -> Any:
    """The kernel of the sums of (x - center) ** 2 along columns."""
    d, square = sums.name, (_X - _CENTER) * (_X - _CENTER)
    return service("column kernel")((square,), (("x", of.name, "matrix"), ("center", d, "percol")), (d,))


# Elements from which on a row is worth a kernel of its own.
_ROW = 16


def _row_meaning() -> tuple[Any, Any]:
    center = reduce_("add", _X) / extent()
    return center, reduce_("add", (_X - center) * (_X - center))


_row_kernel = RowKernel(_row_meaning, "x", wide=True)


@composite(name="_row_distances", where=("aten",), planned=True)
def _row_distances(input):
    """(means of rows along the last dim, sums of squared distances from them), with a last dim of 1, in the
    dtype of the arithmetic.
    """
    center = input.mean(-1, True, dtype=opmath(input.dtype))
    apart = input - center
    return center, (apart * apart).sum(-1, True)


@_row_distances.kernel
def _row_distances_kernel(a: Array) -> Any:
    found = _row_kernel(-1, a)
    return found if found is NotImplemented else tuple([f.reshape(*f.shape, 1) for f in found])


def _bare_row_distances(a: Array) -> Any:
    return _row_kernel.bare(a, -1)


setattr(_row_distances_kernel, "bare", _bare_row_distances)  # a plan asks for it by this name


@_row_distances.gradient
def _row_distances_gradient(s: Any, grad_center: Any, grad: Any) -> Any:
    center = None if grad_center is None else (grad_center / s.input.shape[-1]).expand(s.input.shape)
    apart = None if grad is None else grad * 2 * (s.input - s.result[0])
    return apart if center is None else center if apart is None else center + apart


def _deviation_gradients(grad: Expr, result: Expr, input: Expr) -> dict[str, Expr]:
    """0 where all numbers are the same."""
    return {"input": m.where(m.eq(result, 0), 0, grad / (result * 2))}


@pointwise(where=("aten",), inplace=False, out=False, gradients=_deviation_gradients)
def _deviation(input: Expr) -> Expr:
    """The root of a variance."""
    return m.sqrt(input)


def _moment(name: str, doc: str, answer: Any, **facts: Any) -> None:
    """A row that answers with the variance, its root or the mean."""

    def body(
        input,
        dim: Ints | bool | None = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Number | None = None,
    ):
        # The squares of halves, and their sums, may be beyond what a half can hold.
        wide = input.float() if input.dtype.name in ("float16", "bfloat16") else input
        found, of = answer(*_squares(name, wide, dim, unbiased, correction, keepdim)), input.dtype
        if wide is input:
            return found
        return tuple([f.to(of) for f in found]) if isinstance(found, tuple) else found.to(of)

    composite(body, name=name, doc=doc, planned=True, **facts)


_moment(
    "var",
    "The variance: squared distances from the mean over n - correction (1 by default).",
    lambda variance, center: variance,
    out=True,
)
_moment(
    "std",
    "The standard deviation: the square root of var.",
    lambda variance, center: _deviation(variance),
    out=True,
)
_moment("var_mean", "(var, mean).", lambda variance, center: (variance, center))
_moment("std_mean", "(std, mean).", lambda variance, center: (_deviation(variance), center))


# --- extremes -------------------------------------------------------------------------------------


def _first_extreme(a: Array, dim: int, largest: bool) -> Array:
    """Positions of the extremes along dim; nan counts as the extreme, as PyTorch has it."""
    if a.dtype.kind not in "biuf":
        a = a.astype(np.float32)
    return np.asarray(a.argmax(dim) if largest else a.argmin(dim), np.int64)


def _extreme(name: str, largest: bool) -> Any:
    def body(input, dim: int, keepdim: bool = False) -> ArrayFunction:
        d, result = wrap_dim(dim, input.ndim), named(name)
        check_size(name, input, d)
        left, whole = input.shape[:d] + input.shape[d + 1 :], (*input.shape[:d], 1, *input.shape[d + 1 :])
        usual = left and not keepdim and input.dtype.kind in "iuf"
        read = few_along(input, d, left) if usual else None
        if read is not None:

            def of_few(a: Array) -> Any:
                places = a.argmax(d) if largest else a.argmin(d)
                return tuple.__new__(result, (read(a, places), places))

            return of_few

        def run(a: Array) -> Any:
            places = _first_extreme(at_least_1d(a), d, largest).reshape(whole)
            return result(*pick(a, places, d, keepdim))

        return run

    return opaque(
        resolved(body),
        name=f"_{name}_dim",
        where=("aten",),
        node=name,
        vjp=put_back,
        doc=f"The {name} along dim and its position.",
    )


_max_dim, _min_dim = _extreme("max", True), _extreme("min", False)


def _extremes(name: str, along: Any, overall: Any, doc: str) -> None:
    def body(input, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Tensor | None = None):
        if other is None and hasattr(dim, "_kind"):
            dim, other = None, dim
        if dim is not None and (other is not None or type(dim) is bool or not hasattr(dim, "__index__")):
            raise forms.refusal(ROWS[name])
        if other is not None:
            return getattr(input, f"{name}imum")(other)
        if dim is None:
            check_size(name, input, None)
            return overall(input)
        return along(input, dim, keepdim)

    composite(body, name=name, doc=doc, out=True, planned=True)


_extremes("max", _max_dim, amax, "The largest element, or (values, indices) along dim.")
_extremes("min", _min_dim, amin, "The smallest element, or (values, indices) along dim.")


def _position(name: str, largest: bool) -> None:
    def body(input, dim: int | None = None, keepdim: bool = False) -> Array:
        if dim is None:
            check_size(name, input, None, IndexError)
            found = _first_extreme(input.reshape(-1), 0, largest)
            return found.reshape((1,) * input.ndim) if keepdim else found
        d = wrap_dim(dim, input.ndim)
        check_size(name, input, d)
        if not input.ndim:
            return np.zeros((), np.int64)
        found = _first_extreme(input, d, largest)
        return np.expand_dims(found, d) if keepdim else found

    opaque(
        body, name=name, out=True, doc=f"The position of the {'largest' if largest else 'smallest'} element."
    )


_position("argmax", True)
_position("argmin", False)


@composite(out=True, planned=True)
def aminmax(input, *, dim: int | None = None, keepdim: bool = False):
    """(min, max) along dim, or over all elements."""
    if dim is None:
        if not input.numel():
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        axes = tuple(range(input.ndim))
        return named("aminmax")(amin(input, axes, keepdim), amax(input, axes, keepdim))
    check_size("aminmax", input, wrap_dim(dim, input.ndim))
    if input.is_complex():  # a number: others are refused by the table
        raise RuntimeError(f"aminmax not implemented for {input.dtype.legacy}")
    return named("aminmax")(amin(input, dim, keepdim), amax(input, dim, keepdim))


# --- comparisons of whole tensors -----------------------------------------------------------------


_MANY, _FIRST = 1 << 12, 64


@opaque(quiet=True)
def equal(input, other) -> bool:
    """Whether shapes and all elements are equal."""
    if input.shape != other.shape:
        return False
    if input.size > _MANY and input.flags.c_contiguous and other.flags.c_contiguous:
        first = slice(_FIRST)  # tensors that differ do so soon, mostly
        if 0 in (input.reshape(-1)[first] == other.reshape(-1)[first]).tobytes():
            return False
    return 0 not in (input == other).tobytes()


@composite(planned=True)
def isclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
    """|input - other| <= atol + rtol |other|, elementwise, as bool; infinities equal themselves, nan with
    equal_nan.
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.legacy} did not match {other.dtype.legacy}")
    if rtol < 0 or atol < 0:
        which, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise RuntimeError(f"{which} must be greater than or equal to zero, but got {value}")
    close = input == other
    if input.dtype.category < dt.FLOATING:
        if not rtol and not atol:
            return close
        input, other = input.double(), other.double()
    elif equal_nan:
        close = close | (input.isnan() & other.isnan())
    apart = abs_(input - other)
    return close | (apart.isfinite() & (apart <= atol + rtol * abs_(other)))


# --- norms ----------------------------------------------------------------------------------------


@composite(where=("linalg",), out=True, planned=True)
def vector_norm(
    input,
    ord: Number = 2,
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
):
    """(sum |x| ** ord) ** (1 / ord); the largest |x| for inf, the smallest for -inf."""
    _check_norm(input, dtype)
    x = input.to(dtype) if dtype is not None else input
    if (ord < 0 or ord == inf) and x.ndim and 0 in [x.shape[d] for d in wrap_dims(dim, x.ndim)]:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    if dim is None and ord in (inf, -inf):
        x, shape = x.reshape(-1), x.shape
        found = vector_norm(x, ord, 0)
        return found.reshape((1,) * len(shape)) if keepdim else found
    if ord == 2 and not x.dtype.is_complex:
        return _euclid(x, dim, keepdim)
    size = abs_(x)
    if ord == 2:
        return _euclid(size, dim, keepdim)
    if ord == inf:
        return amax(size, dim, keepdim)
    if ord == -inf:
        return amin(size, dim, keepdim)
    if ord == 0:
        # Counted in a way that has a gradient: zero everywhere.
        return (size * 0).masked_fill(size != 0, 1).sum(dim, keepdim)
    if ord == 1:
        return sum(size, dim, keepdim)
    return _p_norm(x, ord, dim, keepdim)


@composite(name="_p_norm", where=("aten",), node="linalg_vector_norm", planned=True)
def _p_norm(input, ord: Number, dim: Ints | None, keepdim: bool):
    """(sum |x| ** ord) ** (1 / ord)."""
    size = abs_(input.float() if is_low_precision(input._geometry) else input)
    return ((size**ord).sum(dim, keepdim) ** (1.0 / ord)).to(input.dtype.to_real())


@_p_norm.gradient
def _p_norm_gradient(s: Any, grad: Any) -> Any:
    p, x, (grad, y) = s.ord, s.input, with_dims(s, grad, s.result)
    size = x.abs()
    power = x * size ** (p - 2) if p >= 2 else x.sgn() * size ** (p - 1)
    if p < 1:
        power = power.masked_fill(x == 0, 0)
    # At 0, where it has none, the gradient is 0, as PyTorch's.
    return power * (grad / y ** (p - 1)).masked_fill(y == 0, 0)


def _check_norm(x: Any, dtype: Any) -> None:
    if x.dtype.category < dt.FLOATING:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype.legacy}"
        )
    if dtype is not None:
        check_norm_dtype("linalg.vector_norm", x.dtype, dtype)


def check_norm_dtype(op: str, of: Any, dtype: Any) -> None:
    """RuntimeError unless a norm of numbers of one dtype may be computed in the other."""
    if dtype.category < dt.FLOATING:
        raise RuntimeError(f"{op}: dtype should be floating point or complex, but got {dtype.legacy}")
    if dtype.is_complex is not of.is_complex:
        kinds = "complex" if of.is_complex else "real"
        raise RuntimeError(f"{op}: dtype should be {kinds} for {kinds} inputs, but got {dtype.legacy}")
    if promote_types(of, dtype) is not dtype:
        raise RuntimeError(
            f"{op}: the dtype of the input ({of.legacy}) should be convertible without "
            f"narrowing to the specified dtype ({dtype.legacy})"
        )


@reduce(name="_euclid", where=("aten",), node="linalg_vector_norm", takes_dtype=False, dtypes="float")
def _euclid(input) -> Reduction:
    """sqrt(sum input ** 2)."""
    return Reduction("add", input * input, lambda total, n: m.sqrt(total))


@_euclid.gradient
def _euclid_gradient(s: Any, grad: Any) -> Any:
    x, (grad, y) = s.input, with_dims(s, grad, s.result)
    # At 0 the norm has no gradient: 0, as PyTorch's.
    return grad * (x / y).masked_fill(y == 0, 0)


@composite(out=True, planned=True)
def norm(
    input,
    p: Any = "fro",
    dim: Ints | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
):
    """The vector norm of order p over dims (Frobenius: 2)."""
    if p in ("fro", None):
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if isinstance(p, str):
        return ROWS["linalg_matrix_norm"](
            input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype
        )
    return vector_norm(input, p, dim, keepdim, dtype=dtype)
