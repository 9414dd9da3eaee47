"""Modules over several devices (torch.nn.parallel)."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from rushlight.nn.parallel.data_parallel import DataParallel, data_parallel


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        # Processes are the distributed room's business.
        try:
            return import_module("rushlight.nn.parallel.distributed").DistributedDataParallel
        except ModuleNotFoundError as error:
            if error.name != "rushlight.nn.parallel.distributed":
                raise
            raise AttributeError("module 'torch.nn.parallel' has no DistributedDataParallel in "
                                 "Rushlight yet; train in one process") from None
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute {name!r}")


__all__ = ["DataParallel", "data_parallel"]
