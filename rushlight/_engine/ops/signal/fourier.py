"""torch.fft: discrete Fourier transforms. NumPy transforms, in single precision where its data is single.

Three rows do the work: complex to complex, real to complex and complex to real. Results lie in memory
with the transformed dims last, as PyTorch's do.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.core.layout import Ints, as_tuple
from rushlight._engine.ops.creation.filled import factory
from rushlight._engine.ops.indexing.along_dim import legacy
from rushlight._engine.ops.linalg.matmul import product
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import ROWS, Array, composite, opaque

# --- the kernels ----------------------------------------------------------------------------------

# How a transform is scaled: by 1, by 1 / sqrt(n) or by 1 / n. NumPy's name for it depends on the sign.
_FORWARD: dict[str, Any] = {"none": "backward", "root": "ortho", "n": "forward"}
_BACKWARD: dict[str, Any] = {"none": "forward", "root": "ortho", "n": "backward"}


def _sorted(a: Array, dims: Ints) -> Ints:
    """Dims in the order in which PyTorch transforms over several: from the largest stride to the smallest."""
    return tuple(sorted(dims, key=lambda d: -a.strides[d]))


def orders(a: Array, dims: Ints) -> tuple[Ints, Ints]:
    """How an array is turned to have dims at its end, the others in the order of their strides; the way
    back.
    """
    others = sorted((d for d in range(a.ndim) if d not in dims), key=lambda d: -a.strides[d])
    order = (*others, *dims)
    return order, tuple(sorted(range(a.ndim), key=order.__getitem__))


def _last(a: Array, dims: Ints, run: ArrayFunction) -> ArrayFunction:
    """`run` of arrays with dims at their end, and turned back."""
    order, back = orders(a, dims)
    if order == back == tuple(range(a.ndim)):
        return lambda a: np.ascontiguousarray(run(a))
    return lambda a: np.ascontiguousarray(run(a.transpose(order))).transpose(back)


def _check_dtype(a: Array) -> None:
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        raise RuntimeError(
            f"Unsupported dtype {legacy(a)}; transforms take float32, float64, complex64 and complex128"
        )


def _to_complex(a: Array, dims: Ints, scale: str, forward: bool) -> ArrayFunction:
    if not a.size and any(not a.shape[d] for d in dims):
        raise RuntimeError("MKL FFT error: Invalid number of data points (0) specified.")
    norm = (_FORWARD if forward else _BACKWARD)[scale]
    if len(dims) == 1:
        one = np.fft.fft if forward else np.fft.ifft
        return _last(a, dims, lambda a: one(a, None, -1, norm))
    several, axes = np.fft.fftn if forward else np.fft.ifftn, tuple(range(-len(dims), 0))
    return _last(a, _sorted(a, dims), lambda a: several(a, None, axes, norm))


@opaque(name="_fft_c2c", where=("aten",), node="fft_c2c")
@resolved
def _fft_c2c(input, dim: Ints, scale: str, forward: bool) -> ArrayFunction:
    """The transform of complex numbers over dims."""
    _check_dtype(input)
    return _to_complex(input, dim, scale, forward) if dim else np.copy


_fft_c2c.gradient(lambda s, grad: _fft_c2c(grad, s.dim, s.scale, not s.forward))


_SHORT = 32  # up to which a matrix of waves is quicker


@lru_cache(maxsize=64)
def _waves(n: int, of: Any, norm: Any) -> Array:
    """The transform of n real numbers as a matrix; real and imaginary parts in turn."""
    return np.fft.rfft(np.eye(n), norm=norm).view(np.float64).astype(of)


@opaque(name="_fft_r2c", where=("aten",), node="fft_r2c")
@resolved
def _fft_r2c(input, dim: Ints, scale: str, onesided: bool) -> ArrayFunction:
    """The transform of real numbers over dims; onesided leaves out what conjugation gives, in the last."""
    _check_dtype(input)
    if not onesided:
        return _to_complex(input, dim, scale, True)
    dims = *_sorted(input, dim[:-1]), *dim[-1:]
    n, norm = input.shape[dim[-1]], _FORWARD[scale]
    if len(dim) > 1:
        axes = tuple(range(-len(dim), 0))
        return _last(input, dims, lambda a: np.fft.rfftn(a, None, axes, norm))
    if not 0 < n <= _SHORT:
        return _last(input, dims, lambda a: np.fft.rfft(a, None, -1, norm))
    waves, of = _waves(n, input.dtype, norm), f"c{2 * input.itemsize}"
    rows, half = (input.size // n, n), n // 2 + 1
    return _last(input, dims, lambda a: product(a.reshape(rows), waves).view(of).reshape(*a.shape[:-1], half))


@_fft_r2c.gradient
def _fft_r2c_gradient(s: Any, grad: Any) -> Any:
    if s.onesided:
        grad = _resized(grad, s.dim[-1:], (s.shape("input")[s.dim[-1]],))
    return _fft_c2c(grad, s.dim, s.scale, False).real


@opaque(name="_fft_c2r", where=("aten",), node="fft_c2r")
@resolved
def _fft_c2r(input, dim: Ints, scale: str, size: int) -> ArrayFunction:
    """The transform backwards of a half spectrum over dims: real numbers, `size` in the last."""
    _check_dtype(input)

    def real(a: Array) -> Array:
        found: Array = np.fft.irfft(a, size, -1, _BACKWARD[scale])
        return found

    if len(dim) == 1:
        return _last(input, dim, real)
    others = _to_complex(input, dim[:-1], scale, False)  # first; the last one finds dims as that leaves them

    def run(a: Array) -> Array:
        found = others(a)
        last: Array = _last(found, dim[-1:], real)(found)
        return last

    return run


@_fft_c2r.gradient
def _fft_c2r_gradient(s: Any, grad: Any) -> Any:
    found = _fft_r2c(grad, s.dim, s.scale, True)
    # What conjugation gives back counts twice: all but the first and (of an even size) the middle one.
    d, twice = s.dim[-1], s.size - s.size // 2 - 1
    weights = np.ones(found.shape[d], grad._geometry.dtype)
    weights[1 : 1 + twice] = 2
    shape = [-1 if i == d else 1 for i in range(found.ndim)]
    return found * ROWS["_tensor_of"](weights.reshape(shape))


# --- arguments ------------------------------------------------------------------------------------


def _scale(norm: str | None, forward: bool) -> str:
    norm = "backward" if norm is None else norm
    if norm not in ("backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; choose backward, forward or ortho')
    if norm == "ortho":
        return "root"
    return "n" if (norm == "forward") is forward else "none"


def _floating(x: Any) -> Any:
    return x.to(dt.get_default_dtype()) if x.dtype.category < dt.FLOATING else x


def _complex(x: Any) -> Any:
    x = _floating(x)
    return x if x.is_complex() else x.to(x.dtype.to_complex())


def _real(name: str, x: Any) -> Any:
    if x.is_complex():
        words = "real-valued" if name.endswith("n") else "real"
        raise RuntimeError(f"{name} expects a {words} input tensor, but got {x.dtype.legacy}")
    return _floating(x)


def _check_points(*sizes: int) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _resized(x: Any, dims: Ints, sizes: Ints) -> Any:
    """x cut, or continued with zeros, to sizes in dims."""
    pads = [0] * (2 * x.ndim)
    for d, n in zip(dims, sizes, strict=True):
        pads[2 * (x.ndim - 1 - d) + 1] = n - x.shape[d]
    _check_points(*sizes)
    return ROWS["pad"](x, tuple(pads)) if any(pads) else x


def _one(x: Any, n: int | None, dim: int) -> tuple[int, int]:
    """(dim, size) of a transform over one dim."""
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, x.ndim)
    size = x.shape[d] if n is None else n
    _check_points(size)
    return d, size


def _several(x: Any, s: Any, dim: Any) -> tuple[Ints, list[int]]:
    """(dims, sizes) of a transform over several dims."""
    sizes = None if s is None else list(as_tuple(s))
    if dim is not None:
        if not x.ndim and dim != ():
            raise IndexError(f"Dimension specified as {as_tuple(dim)[0]} but tensor has no dimensions")
        dims = tuple(wrap_dim(d, x.ndim) for d in as_tuple(dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"FFT dims must be unique, got {list(as_tuple(dim))}")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length, got "
                f"{len(dims)} and {len(sizes)}"
            )
    elif sizes is not None:
        if len(sizes) > x.ndim:
            raise RuntimeError(
                f"Got shape with {len(sizes)} values but input tensor only has {x.ndim} dimensions."
            )
        dims = tuple(range(x.ndim - len(sizes), x.ndim))
    else:
        dims = tuple(range(x.ndim))
    full = [x.shape[d] for d in dims]
    found = full if sizes is None else [f if n == -1 else n for f, n in zip(full, sizes, strict=True)]
    _check_points(*found)
    return dims, found


def _some(name: str, dims: Ints) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


# --- the transforms over several dims -------------------------------------------------------------


def _full(name: str, x: Any, dims: Ints, sizes: Any, norm: Any, forward: bool) -> Any:
    """fft, ifft: all numbers complex; a real operand's transform forward is computed from reals."""
    if len(dims) == 1 and not x.is_complex():
        found = _fft_r2c(_resized(_floating(x), dims, sizes), dims, _scale(norm, forward), False)
        return found if forward else found.conj()
    return _fft_c2c(_resized(_complex(x), dims, sizes), dims, _scale(norm, forward), forward)


def _half(name: str, x: Any, dims: Ints, sizes: Any, norm: Any, forward: bool) -> Any:
    """rfft, ihfft: reals to half a spectrum."""
    _some(name, dims)
    x = _resized(_real(name, x), dims, sizes)
    scale = _scale(norm, forward)
    if forward:
        return _fft_r2c(x, dims, scale, True)
    found = _fft_r2c(x, dims[-1:], scale, True).conj()
    return _fft_c2c(found, dims[:-1], scale, False) if dims[:-1] else found


def _whole(name: str, x: Any, dims: Ints, sizes: Any, norm: Any, forward: bool) -> Any:
    """hfft, irfft: half a spectrum to reals."""
    _some(name, dims)
    last, scale = sizes[-1], _scale(norm, forward)
    x = _resized(_complex(x), dims, (*sizes[:-1], last // 2 + 1))
    if not forward:
        return _fft_c2r(x, dims, scale, last)
    found = _fft_c2c(x, dims[:-1], scale, True) if dims[:-1] else x
    return _fft_c2r(found.conj(), dims[-1:], scale, last)


def _family(name: str, run: Any, forward: bool, doc: str) -> None:
    """The rows NAME, NAME2 and NAMEn: over one dim, the last two, any."""
    halved = run is _whole

    def one(input, n: int | None = None, dim: int = -1, norm: str | None = None):
        if n is None and halved and input.ndim:
            n = 2 * (input.shape[wrap_dim(dim, input.ndim)] - 1)
        d, size = _one(input, n, dim)
        return run(name, input, (d,), (size,), norm, forward)

    def many(which: str, x: Any, s: Any, dim: Any, norm: Any) -> Any:
        dims, sizes = _several(x, s, dim)
        if halved and dims and (s is None or as_tuple(s)[-1] == -1):
            sizes[-1] = 2 * (sizes[-1] - 1)
        return run(which, x, dims, sizes, norm, forward)

    def two(input, s: Ints | None = None, dim: Ints = (-2, -1), norm: str | None = None):
        return many(f"{name}n", input, s, dim, norm)

    def any_(input, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None):
        return many(f"{name}n", input, s, dim, norm)

    facts: dict[str, Any] = {"where": ("fft",), "out": True, "planned": True}
    composite(one, name=name, doc=f"{doc}, over one dim.", **facts)
    composite(two, name=f"{name}2", doc=f"{doc}, over two dims.", **facts)
    composite(any_, name=f"{name}n", doc=f"{doc}, over several dims.", **facts)


_family("fft", _full, True, "The discrete Fourier transform")
_family("ifft", _full, False, "The inverse of fft")
_family("rfft", _half, True, "The first half of a real operand's fft, which gives the other by conjugation")
_family("ihfft", _half, False, "The inverse of hfft")
_family("irfft", _whole, False, "The inverse of rfft: real numbers from the first half of a spectrum")
_family("hfft", _whole, True, "fft of what the first half is given of, and conjugation gives the other")


# --- frequencies ----------------------------------------------------------------------------------


def _shift(name: str, extra: int, doc: str) -> None:
    def body(input, dim: Ints | None = None):
        dims = (
            tuple(range(input.ndim)) if dim is None else tuple(wrap_dim(d, input.ndim) for d in as_tuple(dim))
        )
        steps = tuple((input.shape[d] + extra) // 2 for d in dims)
        return ROWS["roll"](input, steps, dims) if dims else input

    composite(body, name=name, doc=doc, where=("fft",))


_shift("fftshift", 0, "Spectra with frequency 0 in the middle.")
_shift("ifftshift", 1, "The inverse of fftshift.")


def _frequencies(name: str, half: bool) -> None:
    def body(n: int, d: float = 1.0, *, dtype: dtype | None = None) -> Array:
        of = dtype or dt.get_default_dtype()
        if of.category < dt.FLOATING:
            raise RuntimeError(f"{name} requires a floating point or complex dtype, got {of}")
        places = np.arange(n // 2 + 1 if half else n)
        places[(n + 1) // 2 + half :] -= n
        return (places.astype(dt.opmath(of).np) * (1.0 / (n * d) if n * d else math.nan)).astype(of.np)

    factory(
        body,
        name=name,
        doc=f"The frequencies of {name[:-4]}'s results, for n samples d apart.",
        where=("fft",),
    )


_frequencies("fftfreq", False)
_frequencies("rfftfreq", True)
