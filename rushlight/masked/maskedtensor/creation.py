"""The two functions that make a MaskedTensor."""

from __future__ import annotations

from rushlight import Tensor
from rushlight.masked.maskedtensor.core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A leaf with copies of `data` and of `mask`, which is True where an element counts."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """`data` under `mask`, through which gradients flow into `data`."""
    return MaskedTensor._from_values(data, mask)
