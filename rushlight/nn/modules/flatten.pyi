# Written by `python tools/stubs.py`.
"""Flatten and Unflatten: merge dims into one, and split one dim."""
from rushlight.nn.modules.function_module import FunctionModule
from rushlight._engine.tensors.tensor import Tensor
from typing import Any

class Flatten(FunctionModule):
    """Merge the dims from `start_dim` to `end_dim` into one."""

    end_dim: int
    start_dim: int
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
class Unflatten(FunctionModule):
    """Split the dim `dim` into dims of sizes `unflattened_size`."""

    dim: Any
    unflattened_size: Any
    def __init__(self, dim: Any, unflattened_size: Any) -> None: ...
    __constants__: list[Any]
    def forward(self, input: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor) -> Tensor: ...
