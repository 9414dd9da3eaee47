"""torch.distributions.transforms: invertible maps with the determinants of their Jacobians."""

from rushlight.distributions.transforms.base import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    _InverseTransform as _InverseTransform,
)
from rushlight.distributions.transforms.elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    clipped_sigmoid,
)
from rushlight.distributions.transforms.joined import CatTransform, StackTransform
from rushlight.distributions.transforms.structured import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

identity_transform: Transform = ComposeTransform([])
_clipped_sigmoid = clipped_sigmoid  # the name that libraries import

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
