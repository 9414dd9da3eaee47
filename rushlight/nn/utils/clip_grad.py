"""Limits on gradients: by their total norm, or element by element."""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.renaming import renamed


def _parameters(parameters: Any) -> list[Any]:
    if isinstance(parameters, torch.Tensor):
        return [parameters]
    found = list(parameters)
    if not found and not isinstance(parameters, (list, tuple)):
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    return found


def _gradients(parameters: Any) -> list[Any]:
    return [p.grad for p in _parameters(parameters) if p.grad is not None]


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm_type-norm (2) of all tensors taken as one vector, as a 0-d tensor; 0 of none.

    RuntimeError with `error_if_nonfinite` where it is inf or nan. `foreach` changes nothing here.
    """
    with torch.no_grad():
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        norm_type = float(norm_type)
        if not tensors:
            return torch.tensor(0.0)
        first = tensors[0].device
        norms = [torch.linalg.vector_norm(t, norm_type) for t in tensors]
        norms = [norm if norm.device == first else norm.to(first) for norm in norms]
        total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is "
                "non-finite, so it cannot be clipped. To disable this error and scale the "
                "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
            )
        return total


def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale the gradients by max_norm / total_norm where that is less than 1."""
    with torch.no_grad():
        # Clamping instead of asking saves a read of the value (and a wait, on a GPU).
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in _gradients(parameters):
            grad.mul_(factor if grad.device == factor.device else factor.to(grad.device))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients in place so that their total norm is at most `max_norm`; returns that norm before,
    a 0-d tensor.

    parameters: a tensor or an iterable of tensors; those without a `grad` are passed over. norm_type: the p
    of the norm, inf for the maximum. RuntimeError with `error_if_nonfinite` where the norm is inf or nan.
    """
    parameters = _parameters(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


clip_grad_norm = renamed(
    clip_grad_norm_,
    "clip_grad_norm",
    ("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."),
)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clip each element of the gradients to [-clip_value, clip_value], in place."""
    limit = float(clip_value)
    with torch.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-limit, max=limit)


# PyTorch's other spellings.
_get_total_norm = get_total_norm
_clip_grads_with_norm_ = clip_grads_with_norm_
