"""What torch.distributed.tensor tries out (torch.distributed.tensor.experimental)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.distributed.tensor.dtensor import REPLICATED
from rushlight.distributed.tensor.experimental._func_map import local_map

__all__ = ["implicit_replication", "local_map"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Within it, tensors that are not DTensors count as replicated ones, in ops with DTensors."""
    REPLICATED.append(True)
    try:
        yield
    finally:
        REPLICATED.pop()
