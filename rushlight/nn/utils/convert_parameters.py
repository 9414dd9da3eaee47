"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rushlight as torch


def _check_param_device(param: Any, old_param_device: Any) -> Any:
    """The device all parameters share; TypeError where they do not."""
    device = param.device
    if old_param_device is not None and device != old_param_device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """The parameters flattened and joined: (sum of sizes,). Gradients flow through."""
    device, parts = None, []
    for param in parameters:
        device = _check_param_device(param, device)
        parts.append(param.reshape(-1))
    return torch.cat(parts)


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make the parameters views of the slices of a vector."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    device, start = None, 0
    for param in parameters:
        device = _check_param_device(param, device)
        size = param.numel()
        param.data = vec[start : start + size].view_as(param).data
        start += size
