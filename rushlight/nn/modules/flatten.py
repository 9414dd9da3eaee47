"""Flatten and Unflatten: merge dims into one, and split one dim."""

from __future__ import annotations

from typing import Any

from rushlight.nn.modules.function_module import FunctionModule


class Flatten(FunctionModule, function="torch.flatten", start_dim=1, end_dim=-1):
    """Merge the dims from `start_dim` to `end_dim` into one."""


class Unflatten(FunctionModule, function="torch.unflatten", dim=Any, unflattened_size=Any):
    """Split the dim `dim` into dims of sizes `unflattened_size`."""

    def _post_init(self) -> None:
        if isinstance(self.dim, int):
            self._require((tuple, list), int, "ints")
        elif isinstance(self.dim, str):
            self._require(tuple, tuple, "tuples")
        else:
            raise TypeError("invalid argument type for dim parameter")

    def _require(self, outer: Any, inner: type, what: str) -> None:
        size = self.unflattened_size
        if not isinstance(size, outer):
            raise TypeError(
                f"unflattened_size must be a tuple of {what}, but found type {type(size).__name__}"
            )
        for i, elem in enumerate(size):
            if not isinstance(elem, inner):
                raise TypeError(
                    f"unflattened_size must be tuple of {what}, but found element of "
                    f"type {type(elem).__name__} at pos {i}"
                )
