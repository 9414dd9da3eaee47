"""Flatten and Unflatten: merge dims into one, and split one dim."""
from __future__ import annotations

from typing import Any

from rushlight.nn.modules.function_module import FunctionModule
from rushlight.nn.modules.module import Module


class Flatten(FunctionModule, function="torch.flatten", start_dim=1, end_dim=-1):
    """Merge the dims from `start_dim` to `end_dim` into one."""


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
        self._require(input, tuple, tuple, "tuples")

    def _require_tuple_int(self, input: Any) -> None:
        self._require(input, (tuple, list), int, "ints")

    def _require(self, input: Any, outer: Any, inner: type, what: str) -> None:
        if not isinstance(input, outer):
            raise TypeError(f"unflattened_size must be a tuple of {what}, but found type "
                            f"{type(input).__name__}")
        for i, elem in enumerate(input):
            if not isinstance(elem, inner):
                raise TypeError(f"unflattened_size must be tuple of {what}, but found element of "
                                f"type {type(elem).__name__} at pos {i}")

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
