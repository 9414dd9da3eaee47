"""The standard's extension `linalg`."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.array_api.functions import PUBLIC, common, of_pairs
from rushlight.tensor.tensor import Tensor

_SAME = ("cholesky", "det", "diagonal", "eigh", "eigvalsh", "inv", "matrix_power", "qr", "slogdet", "svd",
         "svdvals")


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return getattr(torch.linalg, name)
    if name in _PUBLIC:
        return _PUBLIC[name]
    raise AttributeError(f"module 'rushlight.array_api.linalg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_SAME, *_PUBLIC})


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x with x1 @ x = x2; x2 holds a vector only if it has one dim."""
    x1, x2 = common(x1, x2)
    return torch.linalg.solve(x1, x2[None] if 1 < x2.ndim == x1.ndim - 1 else x2)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm along axes."""
    if axis == ():
        return (x != 0).to(x.dtype) if ord == 0 else torch.abs(x)
    return torch.linalg.vector_norm(x, ord, axis, keepdims)


_PUBLIC: dict[str, Any] = {
    "solve": solve, "vector_norm": vector_norm, "outer": of_pairs(torch.outer),
    **{name: PUBLIC[name] for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")},
    "cross": lambda x1, x2, /, *, axis=-1: torch.linalg.cross(
        *torch.broadcast_tensors(*common(x1, x2)), dim=axis),
    "matrix_norm": lambda x, /, *, keepdims=False, ord="fro": torch.linalg.matrix_norm(
        x, ord, keepdim=keepdims),
    "matrix_rank": lambda x, /, *, rtol=None: torch.linalg.matrix_rank(x, rtol=rtol),
    "pinv": lambda x, /, *, rtol=None: torch.linalg.pinv(x, rtol=rtol),
    "trace": lambda x, /, *, offset=0, dtype=None: PUBLIC["sum"](
        torch.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype),
}
