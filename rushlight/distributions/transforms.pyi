# Written by `python tools/stubs.py`.
"""torch.distributions.transforms: invertible maps with the determinants of their Jacobians."""
from typing import Any

from rushlight.distributions.elementwise import AbsTransform as AbsTransform
from rushlight.distributions.elementwise import AffineTransform as AffineTransform
from rushlight.distributions.joined import CatTransform as CatTransform
from rushlight.distributions.transform import ComposeTransform as ComposeTransform
from rushlight.distributions.structured import CorrCholeskyTransform as CorrCholeskyTransform
from rushlight.distributions.elementwise import CumulativeDistributionTransform as CumulativeDistributionTransform
from rushlight.distributions.elementwise import ExpTransform as ExpTransform
from rushlight.distributions.transform import IndependentTransform as IndependentTransform
from rushlight.distributions.structured import LowerCholeskyTransform as LowerCholeskyTransform
from rushlight.distributions.structured import PositiveDefiniteTransform as PositiveDefiniteTransform
from rushlight.distributions.elementwise import PowerTransform as PowerTransform
from rushlight.distributions.structured import ReshapeTransform as ReshapeTransform
from rushlight.distributions.elementwise import SigmoidTransform as SigmoidTransform
from rushlight.distributions.structured import SoftmaxTransform as SoftmaxTransform
from rushlight.distributions.elementwise import SoftplusTransform as SoftplusTransform
from rushlight.distributions.joined import StackTransform as StackTransform
from rushlight.distributions.structured import StickBreakingTransform as StickBreakingTransform
from rushlight.distributions.elementwise import TanhTransform as TanhTransform
from rushlight.distributions.transform import Transform as Transform
identity_transform: Any
__all__ = ['AbsTransform', 'AffineTransform', 'CatTransform', 'ComposeTransform', 'CorrCholeskyTransform',
    'CumulativeDistributionTransform', 'ExpTransform', 'IndependentTransform', 'LowerCholeskyTransform',
    'PositiveDefiniteTransform', 'PowerTransform', 'ReshapeTransform', 'SigmoidTransform', 'SoftmaxTransform',
    'SoftplusTransform', 'StackTransform', 'StickBreakingTransform', 'TanhTransform', 'Transform',
    'identity_transform']
