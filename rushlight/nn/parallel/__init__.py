"""Modules over several devices (torch.nn.parallel)."""
from __future__ import annotations

from typing import Any

from rushlight.nn.parallel.data_parallel import DataParallel, data_parallel


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        raise AttributeError("module 'torch.nn.parallel' has no DistributedDataParallel in "
                             "Rushlight yet; train in one process")
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute {name!r}")


__all__ = ["DataParallel", "data_parallel"]
