"""Optimizers over several processes (torch.distributed.optim)."""

from rushlight.distributed.optim.in_backward import _apply_optimizer_in_backward, _get_in_backward_optimizers
from rushlight.distributed.optim.named_optimizer import _NamedOptimizer
from rushlight.distributed.optim.optimizer import DistributedOptimizer
from rushlight.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from rushlight.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "_NamedOptimizer",
    "_apply_optimizer_in_backward",
    "_get_in_backward_optimizers",
]
