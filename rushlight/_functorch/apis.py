"""torch._functorch.apis: vmap, and vmap over parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core.pytree import flatten
from rushlight.func import grad as grad, grad_and_value as grad_and_value, vmap


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """vmap that computes the batch in `chunks` parts."""

    def run(*args: Any, **kwargs: Any) -> Any:
        leaf = flatten(args)[0][0]
        dim = flatten(in_dims)[0][0]
        size = -(-leaf.shape[dim] // chunks)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return vmap(func, in_dims, out_dims, randomness) if chunks == 1 else run
