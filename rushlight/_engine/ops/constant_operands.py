"""Operands that have no gradient by definition: weights of classes, running moments, a scale of levels."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.services import service


def refuse_gradient(op: str, name: str, operand: Any) -> None:
    """RuntimeError if a gradient is asked for with regard to the argument `name` of PyTorch's `op`."""
    if getattr(operand, "requires_grad", False) and service("whether gradients are wanted")():
        raise RuntimeError(
            f"The function '{op}' is not differentiable with respect to argument '{name}'. This input cannot "
            "have requires_grad True."
        )
