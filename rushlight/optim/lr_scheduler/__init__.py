"""torch.optim.lr_scheduler: learning rates as functions of the step."""
from rushlight.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from rushlight.optim.lr_scheduler.composed import (ChainedScheduler, ReduceLROnPlateau, SequentialLR)
from rushlight.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from rushlight.optim.lr_scheduler.cyclic import CyclicLR, OneCycleLR
from rushlight.optim.lr_scheduler.simple import (ConstantLR, ExponentialLR, LambdaLR, LinearLR,
                                                 MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR)

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR",
           "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler"]
