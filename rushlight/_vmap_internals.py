"""torch._vmap_internals: PyTorch's first vmap, which refuses random numbers in words of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.func.vmapping import vmap as _torch_vmap

__all__ = ["vmap"]


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """vmap; RuntimeError for ops that draw random numbers."""
    inner = _torch_vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        try:
            return inner(*args)
        except RuntimeError as error:
            if "random operation" not in str(error):
                raise
            raise RuntimeError(
                "vmap: We do not yet support calling random operations inside of vmap. Please "
                "perform random operations outside of vmap as a workaround"
            ) from error

    return mapped


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """The same as torch.vmap with randomness="error"."""
    return _vmap(func, in_dims, out_dims)
