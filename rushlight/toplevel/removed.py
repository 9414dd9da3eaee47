"""torch.solve, eig, symeig, lstsq and matrix_rank: what PyTorch has removed, and says so when called."""

from __future__ import annotations

from typing import Any

_WORDS = "This function was deprecated since version 1.9 and is now removed."
_INSTEAD = {
    "solve": "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` "
    "has its arguments reversed and does not return the LU factorization.",
    "eig": "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than "
    "real tensors mimicking complex tensors.",
    "symeig": "The default behavior has changed from using the upper triangular portion of the matrix by "
    "default to using the lower triangular portion. Use `torch.linalg.eigh` or `torch.linalg.eigvalsh`.",
    "lstsq": "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.",
    "matrix_rank": "Please use `torch.linalg.matrix_rank`.",
}


def _removed(name: str) -> Any:
    def refuse(input: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{_WORDS} {_INSTEAD[name]}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Removed from PyTorch: RuntimeError. {_INSTEAD[name]}"
    return refuse


def called(name: str, input: Any) -> Any:
    """A removed function called as a tensor's method: RuntimeError."""
    return globals()[name](input)


solve, eig, symeig, lstsq, matrix_rank = map(_removed, _INSTEAD)
