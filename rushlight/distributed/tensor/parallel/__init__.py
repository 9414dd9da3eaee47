"""Modules whose work is shared out over ranks, by a plan (torch.distributed.tensor.parallel)."""

from rushlight.distributed.tensor.parallel.api import parallelize_module
from rushlight.distributed.tensor.parallel.loss import loss_parallel
from rushlight.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]
