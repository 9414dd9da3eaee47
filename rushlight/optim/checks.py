"""Checks that optimizers share."""

from __future__ import annotations

from typing import Any

from rushlight._engine.tensors.tensor import Tensor


def check_lr(lr: Any, foreach: Any = False, capturable: bool = False) -> None:
    """A learning rate must not be negative; a tensor must have one element."""
    if isinstance(lr, Tensor):
        if foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


# Options that must not be negative, by what messages call them.
_NOT_NEGATIVE = {
    "eps": "epsilon",
    **{
        name: name
        for name in ("momentum", "weight_decay", "lr_decay", "initial_accumulator_value", "momentum_decay")
    },
}


def check_options(options: dict[str, Any]) -> None:
    """The rules for options that mean the same in all optimizers."""
    check_lr(options["lr"])
    for name, value in options.items():
        if name in _NOT_NEGATIVE and not value >= 0.0:
            raise ValueError(f"Invalid {_NOT_NEGATIVE[name]} value: {value}")
    check_betas(options.get("betas", (0.0, 0.0)))
    if options.get("fused") and options["differentiable"]:
        raise RuntimeError("`fused` does not support `differentiable`")
    if options.get("fused") and options["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_betas(betas: Any) -> None:
    """Decay rates lie in [0, 1)."""
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_tensor_betas(betas: Any, foreach: Any, capturable: bool) -> None:
    """Decay rates that are tensors come together, and not with foreach."""
    kinds = [isinstance(beta, Tensor) for beta in betas]
    if any(kinds) and not all(kinds):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if kinds[i] and foreach and not capturable:
            raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        if kinds[i] and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
