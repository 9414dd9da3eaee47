"""Operands that have no gradient by definition: weights of classes, running moments, a scale of levels."""

from __future__ import annotations

from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL


def refuse_gradient(op: str, name: str, operand: Any) -> None:
    """RuntimeError if a gradient is asked for with regard to the argument `name` of PyTorch's `op`."""
    if operand is not None and LOCAL.enabled and getattr(operand, "_grad_node", None) is not None:
        raise RuntimeError(
            f"The function '{op}' is not differentiable with respect to argument '{name}'. This input cannot "
            "have requires_grad True."
        )
