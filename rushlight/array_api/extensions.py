"""The standard's extensions, `linalg` and `fft`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight.array_api import functions
from rushlight.array_api.array import handing_out
from rushlight.array_api.functions import common, of_pairs


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x with x1 @ x = x2; x2 holds a vector only if it has one dim."""
    x1, x2 = common(x1, x2)
    return torch.linalg.solve(x1, x2[None] if 1 < x2.ndim == x1.ndim - 1 else x2)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The product of vectors along an axis, where both have three numbers."""
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"cross: sizes {x1.shape[axis]}, {x2.shape[axis]} along axis {axis} are not both 3")
    return torch.linalg.cross(*torch.broadcast_tensors(*common(x1, x2)), dim=axis)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm along axes."""
    if axis == ():
        return (x != 0).to(x.dtype) if ord == 0 else torch.abs(x)
    return torch.linalg.vector_norm(x, ord, axis, keepdims)


def _over_axis(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, /, *, n=None, axis=-1, norm="backward": f(x, n, axis, norm).resolve_conj()


def _over_axes(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, /, *, s=None, axes=None, norm="backward": f(x, s, axes, norm)


def _handing_out(**named: Callable[..., Any]) -> SimpleNamespace:
    return SimpleNamespace(**{name: handing_out(f) for name, f in named.items()})


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices: Frobenius' by default."""
    return torch.linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are greater than rtol times the greatest."""
    return torch.linalg.matrix_rank(x, rtol=rtol)


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse, without singular values up to rtol times the greatest."""
    return torch.linalg.pinv(x, rtol=rtol)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal `offset` of matrices."""
    return functions.PUBLIC["sum"](torch.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Spectra with the zero frequency moved to the middle of the axes."""
    return torch.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The inverse of fftshift."""
    return torch.fft.ifftshift(x, axes)


linalg = _handing_out(
    **{
        **{
            name: getattr(torch.linalg, name)
            for name in (
                "cholesky det diagonal eigh eigvalsh inv matrix_power qr slogdet svd svdvals"
            ).split()
        },
        **{name: functions.PUBLIC[name] for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")},
        "cross": cross,
        "solve": solve,
        "vector_norm": vector_norm,
        "outer": of_pairs(torch.outer),
        "matrix_norm": matrix_norm,
        "matrix_rank": matrix_rank,
        "pinv": pinv,
        "trace": trace,
    }
)
fft = _handing_out(
    **{name: _over_axis(getattr(torch.fft, name)) for name in "fft ifft rfft irfft hfft ihfft".split()},
    **{name: _over_axes(getattr(torch.fft, name)) for name in "fftn ifftn rfftn irfftn".split()},
    fftshift=fftshift,
    ifftshift=ifftshift,
    fftfreq=torch.fft.fftfreq,
    rfftfreq=torch.fft.rfftfreq,
)
