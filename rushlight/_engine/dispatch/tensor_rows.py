"""The op table for those who ask for rows that give one tensor, and have its methods checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor


class TensorRow(Protocol):
    """A row whose result is one tensor."""

    call: Callable[..., Tensor]

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...


TENSOR_ROWS: Mapping[str, TensorRow] = ROWS
