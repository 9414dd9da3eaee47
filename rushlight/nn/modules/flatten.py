"""Flatten and Unflatten: merge dims into one, and split one dim."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merge the dims from `start_dim` to `end_dim` into one: (N, a, b) -> (N, a * b)."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with fewer dims: a view where its strides allow that, else a copy."""
        return torch.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """What repr() shows: start_dim, end_dim."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the dim `dim` into dims of sizes `unflattened_size`: (N, a * b) -> (N, a, b).

    Of a named dim: its name, and pairs of names and sizes.
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(
        self, dim: int | str, unflattened_size: tuple[int, ...] | list[int] | tuple[tuple[str, int], ...]
    ) -> None:
        super().__init__()
        if isinstance(dim, int):
            _check_elements(unflattened_size, (tuple, list), int, "ints")
        elif isinstance(dim, str):
            _check_elements(unflattened_size, (tuple,), tuple, "tuples")
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim: Any = dim  # numbers, or names
        self.unflattened_size: Any = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """A view of the input with more dims; RuntimeError unless the sizes multiply to that of `dim`."""
        return torch.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """What repr() shows: dim, unflattened_size."""
        return f"dim={self.dim!r}, unflattened_size={self.unflattened_size}"


def _check_elements(size: object, outer: tuple[type, ...], inner: type, what: str) -> None:
    """TypeError unless `size` is one of the types `outer`, and holds objects of the type `inner` alone."""
    if not isinstance(size, outer):
        raise TypeError(f"unflattened_size must be a tuple of {what}, but found type {type(size).__name__}")
    elements: Any = size
    for position, element in enumerate(elements):
        if not isinstance(element, inner):
            raise TypeError(
                f"unflattened_size must be tuple of {what}, but found element of "
                f"type {type(element).__name__} at pos {position}"
            )
