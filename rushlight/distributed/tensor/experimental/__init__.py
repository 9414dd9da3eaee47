"""What torch.distributed.tensor tries out (torch.distributed.tensor.experimental)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.distributed.tensor.dtensor import REPLICATED

__all__ = ["implicit_replication"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Within it, tensors that are not DTensors count as replicated ones, in ops with DTensors."""
    REPLICATED.append(True)
    try:
        yield
    finally:
        REPLICATED.pop()
