# Written by `python tools/stubs.py`.
"""torch.optim.lr_scheduler: learning rates as functions of the step."""

from rushlight.optim.lr_scheduler.composed import ChainedScheduler as ChainedScheduler
from rushlight.optim.lr_scheduler.simple import ConstantLR as ConstantLR
from rushlight.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from rushlight.optim.lr_scheduler.cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from rushlight.optim.lr_scheduler.cyclic import CyclicLR as CyclicLR
from rushlight.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from rushlight.optim.lr_scheduler.simple import ExponentialLR as ExponentialLR
from rushlight.optim.lr_scheduler.base import LRScheduler as LRScheduler
from rushlight.optim.lr_scheduler.simple import LambdaLR as LambdaLR
from rushlight.optim.lr_scheduler.simple import LinearLR as LinearLR
from rushlight.optim.lr_scheduler.simple import MultiStepLR as MultiStepLR
from rushlight.optim.lr_scheduler.simple import MultiplicativeLR as MultiplicativeLR
from rushlight.optim.lr_scheduler.cyclic import OneCycleLR as OneCycleLR
from rushlight.optim.lr_scheduler.simple import PolynomialLR as PolynomialLR
from rushlight.optim.lr_scheduler.composed import ReduceLROnPlateau as ReduceLROnPlateau
from rushlight.optim.lr_scheduler.composed import SequentialLR as SequentialLR
from rushlight.optim.lr_scheduler.simple import StepLR as StepLR
from rushlight.optim.lr_scheduler.base import _LRScheduler as _LRScheduler
def __dir__() -> list[str]: ...
__all__ = ['ChainedScheduler', 'ConstantLR', 'CosineAnnealingLR', 'CosineAnnealingWarmRestarts', 'CyclicLR',
    'EPOCH_DEPRECATION_WARNING', 'ExponentialLR', 'LRScheduler', 'LambdaLR', 'LinearLR', 'MultiStepLR',
    'MultiplicativeLR', 'OneCycleLR', 'PolynomialLR', 'ReduceLROnPlateau', 'SequentialLR', 'StepLR',
    '_LRScheduler']
