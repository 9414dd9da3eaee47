"""Flatten and Unflatten: merge dims into one, and split one dim."""
from __future__ import annotations

from typing import Any

from rushlight.nn.modules.module import Module


class Flatten(Module):
    """Merge the dims from `start_dim` to `end_dim` into one."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the dim `dim` into dims of sizes `unflattened_size`."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            self._require_tuple_tuple(unflattened_size)
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_tuple(self, input: Any) -> None:
        if not isinstance(input, tuple):
            raise TypeError("unflattened_size must be a tuple of tuples, but found type "
                            f"{type(input).__name__}")
        for i, elem in enumerate(input):
            if not isinstance(elem, tuple):
                raise TypeError("unflattened_size must be tuple of tuples, but found element of "
                                f"type {type(elem).__name__} at pos {i}")

    def _require_tuple_int(self, input: Any) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError("unflattened_size must be a tuple of ints, but found type "
                            f"{type(input).__name__}")
        for i, elem in enumerate(input):
            if not isinstance(elem, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(elem).__name__} at pos {i}")

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
