"""Optimizers over several processes (torch.distributed.optim)."""

from rushlight.distributed.optim.functional import (
    _FunctionalAdadelta,
    _FunctionalAdagrad,
    _FunctionalAdam,
    _FunctionalAdamax,
    _FunctionalAdamW,
    _FunctionalRMSprop,
    _FunctionalRprop,
    _FunctionalSGD,
    as_functional_optim,
)
from rushlight.distributed.optim.in_backward import _apply_optimizer_in_backward, _get_in_backward_optimizers
from rushlight.distributed.optim.named_optimizer import _NamedOptimizer
from rushlight.distributed.optim.optimizer import DistributedOptimizer
from rushlight.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from rushlight.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "_FunctionalAdadelta",
    "_FunctionalAdagrad",
    "_FunctionalAdam",
    "_FunctionalAdamW",
    "_FunctionalAdamax",
    "_FunctionalRMSprop",
    "_FunctionalRprop",
    "_FunctionalSGD",
    "_NamedOptimizer",
    "_apply_optimizer_in_backward",
    "_get_in_backward_optimizers",
    "as_functional_optim",
]
