"""Tensors that say which elements count: core.py is the class, rules.py what ops do to it."""

from rushlight.masked.maskedtensor.core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
