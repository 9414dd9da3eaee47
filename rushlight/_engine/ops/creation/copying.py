"""Copies and conversions, and the complex parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import convert, needs_care
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.layout import (
    channels_last_strides,
    format_strides,
    has_channels_last,
    laid_out,
    strided_memory,
    strides_of_empty,
)
from rushlight._engine.core.services import service
from rushlight._engine.ops.expressions import Expr, m
from rushlight._engine.ops.resolved import ArrayFunction
from rushlight._engine.ops.row_kernels import BIG
from rushlight._engine.ops.table import ROWS, Array, composite, opaque, pointwise, view


@composite(where=("Tensor",), planned=True)
def type_as(input, other):
    """input in the dtype and on the device of other."""
    return input.to(other.device, other.dtype)


@composite(planned=True)
def adjoint(input):
    """The last two dims swapped and conjugated."""
    if input.ndim == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return input.mH


@composite
def resolve_conj(input):
    """A copy of a view that is conjugated when it is read; another tensor as it is."""
    return input.clone() if input._kind.conj else input


@composite
def resolve_neg(input):
    """A copy of a view that is negated when it is read; another tensor as it is."""
    return input.clone() if input._kind.neg else input


@pointwise(where=(), dtypes="float", inplace=False)
def _real_angle(input: Expr) -> Expr:
    """pi where negative, else 0."""
    return m.where(m.isnan(input), input, m.where(m.lt(input, 0), math.pi, 0))


@composite(inplace=True, out=True)
def conj_physical(input):
    """The complex conjugate, written out; real numbers as they are."""
    return _conj_physical(input) if input.is_complex() else input


@composite(aliases=("_conj",))
def conj(input):
    """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    return _conj_view(input) if input._kind.dtype.is_complex else input


@composite(out=True, planned=True)
def angle(input):
    """The angle of a complex number; of a real one 0 or pi (nan stays)."""
    return _angle(input.contiguous()) if input._kind.dtype.is_complex else _real_angle(input)


@pointwise(node="conj_physical")
def _conj_physical(input: Expr) -> Expr:
    """The complex conjugate, written out."""
    return m.conj(input)


@pointwise(where=(), result="real", inplace=False)
def _angle(input: Expr) -> Expr:
    """atan2(imag, real)."""
    return m.angle(input)


def arranged(a: Array, dtype: Any = None, order: Any = None) -> Array:
    """Fresh memory for a copy of `a`, in the order that a memory format asks for (None: preserve)."""
    return laid_out(a.shape, (format_strides(a.shape, a.strides, order),), dtype or a.dtype)


_LARGE = 1 << 17


def assign(out: Array, a: Array) -> Array:
    """out[...] = a, of equal shapes; large ones by machine code."""
    if a.size < _LARGE or a.dtype != out.dtype or not service("copy")(out, a):
        out[...] = a
    return out


def duplicate(a: Array, order: Any = "C") -> Array:
    """A copy in the order "C", or "K", laid out as `a`."""
    if order == "K" and not a.flags.c_contiguous:
        return assign(arranged(a), a)
    return a.copy() if a.size < _LARGE else assign(np.empty(a.shape, a.dtype), a)


def formatted(like: Array, run: ArrayFunction, dims: Any = (4, 5)) -> ArrayFunction:
    """`run`, whose results are in channels last where its operand, laid out as `like` of so many dims, is."""
    if not has_channels_last(like.shape, like.strides, dims):
        return run

    def channels_last(a: Array) -> Array:
        order = channels_last_strides(a.shape)
        if a.strides == tuple([s * a.itemsize for s in order]):
            return a
        return assign(laid_out(a.shape, (order,), a.dtype), a)

    def run_formatted(a: Array) -> Any:
        found = run(a)
        if found.__class__ is np.ndarray:
            return channels_last(found)
        return tuple(map(channels_last, found))

    return run_formatted


def in_format(found: Any, like: Any, dims: Any = (4, 5)) -> Any:
    """A result in channels last where the tensor `like`, of so many dims, is."""
    if not has_channels_last(like.shape, like.stride(), dims):
        return found
    return found.movedim(1, -1).contiguous().movedim(-1, 1)


def contiguous(a: Array) -> Array:
    """np.ascontiguousarray, by `assign`."""
    return a if a.flags.c_contiguous else duplicate(a)


@cache
def _way(source: Any, to: Any) -> Callable[..., Any] | None:
    """How elements are converted into an array (array, out); None: as NumPy does it."""
    if source.kind == "c" and to.kind in "fiu":
        warn_once("Casting complex values to real discards the imaginary part")
    if {source.name, to.name} in _HALVES or (source.name in _WHOLE and to.name in _HALF):
        kernel = service("conversion kernel")(source.name, to.name)
        return lambda a, out: (kernel.large if a.size >= BIG else kernel.fn)(a, out=out)
    return (lambda a, out: assign(out, convert(a, to))) if needs_care(source, to) else None


def _copy(a: Array, dtype: Any, memory_format: Any) -> Array:
    way, whole = _way(a.dtype, dtype), a.flags.c_contiguous or a.ndim == 1
    size = a.size
    if not size:
        return strided_memory(a.shape, strides_of_empty(a, memory_format), dtype)
    if (
        way is None
        and size < _LARGE
        and (
            (memory_format is None and whole)
            or (memory_format is not None and memory_format.name == "contiguous_format")
        )
    ):
        return a.astype(dtype, "C")
    plain = memory_format is None and whole
    out = np.empty(a.shape, dtype) if plain else arranged(a, dtype, memory_format)
    return converted(a, out)


# Conversions that NumPy does element by element, in software.
_HALF = ("float16", "bfloat16")
_HALVES = [{"float32", half} for half in _HALF]
_WHOLE = ("bool", "int8", "uint8", "int16")  # which float32 has, so that they are rounded once


def converted(a: Array, out: Array) -> Array:
    """out[...] = a, of equal shapes, with PyTorch's conversions."""
    way = _way(a.dtype, out.dtype)
    if way is None:
        return assign(out, a)
    way(a, out)
    return out


@opaque(name="_tensor_of", where=("aten",))
def tensor_of(array: Any) -> Any:
    """A tensor around an array that a composite row or a gradient rule has computed."""
    return array


def _as_it_is(s: Any, grad: Any) -> Any:
    return grad


@opaque(vjp=_as_it_is, quiet=True)
def clone(input, *, memory_format: memory_format | None = None) -> Array:
    """A copy with its own memory."""
    return _copy(input, input.dtype, memory_format)


@opaque(where=("aten",), node="to_copy", vjp=_as_it_is)
def _to_dtype(input, dtype: dtype, memory_format: memory_format | None = None) -> Array:
    """A copy converted to another dtype; C's conversions for floats out of range."""
    return _copy(input, dtype.np, memory_format)


@opaque(name="_overwritten", where=("aten",), node="copy")
def overwritten(input, src) -> Array:
    """src in the shape and dtype of input: what copy_() leaves there."""
    return np.broadcast_to(convert(src, input.dtype), input.shape)


overwritten.gradient(lambda s, grad: (grad.new_zeros(s.shape("input")), grad.sum_to_size(s.shape("src"))))


@composite(where=("torch",))
def fill(input, value: Any):
    """One number (or 0-d tensor) in the shape and dtype of input."""
    if input._grad_node is None and value.__class__ in (int, float, bool):
        return ROWS["full_like"](input, value)
    return (clone if input.requires_grad else ROWS["empty_like"])(input).fill_(value)


@view(name="_conj_view", where=("aten",), native=True, node="conj", marks=lambda k: (not k.conj, k.neg))
def _conj_view(input) -> Any:
    """conj of a complex tensor."""
    return (_same,)


_conj_view.gradient(lambda s, grad: grad.conj())


@view(name="_neg_view", native=True, marks=lambda k: (k.conj, not k.neg))
def _neg_view(input) -> Any:
    """The negative, as a view that is negated when it is read."""
    return (_same,)


_neg_view.gradient(lambda s, grad: -grad)


def _same(a: Array) -> Array:
    return a[...]


@view(name="_complex_part", where=("aten",), native=True)
def _complex_part(input, which: str) -> Any:
    """The real or the imaginary parts, as a view of every other number."""
    return (attrgetter(which),)


_complex_part.gradient(lambda s, grad: grad.to(grad.dtype.to_complex()) * (1 if s.which == "real" else 1j))


@composite(where=("torch",))
def real(input):
    """The real part, as a view; a real tensor is returned as it is."""
    if not input._kind.dtype.is_complex:
        return input
    return _complex_part(_conj_view(input) if input._kind.conj else input, "real")


@composite(where=("torch",))
def imag(input):
    """The imaginary part, as a view."""
    if not input._kind.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if input._kind.conj:
        return _neg_view(_complex_part(_conj_view(input), "imag"))
    return _complex_part(input, "imag")


def _view_real(a: Array) -> Array:
    if a.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if not isinstance(a, np.ndarray):
        return a[..., None].view(a.real.dtype)
    return a.view(_pairs(a.dtype))  # which adds a dim wherever the elements lie


@cache
def _pairs(of: Any) -> np.dtype[Any]:
    return np.dtype((np.empty(0, of).real.dtype, (2,)))


def _unconjugated(k: Any) -> tuple[bool, bool]:
    if k.conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
            "conjugate tensor so you can view it as real, use self.resolve_conj(), a copy"
        )
    return False, k.neg


@view(native=True, marks=_unconjugated)
def view_as_real(input) -> Any:
    """A complex tensor as a real one with a last dim of (real, imaginary)."""
    return (_view_real,)


view_as_real.gradient(lambda s, grad: grad.select(-1, 0) + grad.select(-1, 1) * 1j)


def _view_complex(a: Array, of: Any) -> Array:
    found: Array = a.view(of)[..., 0]
    return found


@view(native=True)
def view_as_complex(input) -> Any:
    """A real tensor with a last dim of 2 as a complex one."""
    if input.dtype.kind != "f" or input.itemsize == 2:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but "
            f"got a tensor of scalar type: {dt.from_numpy_dtype(input.dtype).legacy}"
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % (2 * input.itemsize) for step in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _view_complex, np.complex64 if input.itemsize == 4 else np.complex128


view_as_complex.gradient(lambda s, grad: view_as_real(grad.resolve_conj()))
