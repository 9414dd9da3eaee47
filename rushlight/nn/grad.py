"""Gradients of convolutions as functions (torch.nn.grad): conv2d_input, conv2d_weight and their like."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F


def _gradient(name: str, of: int, given: tuple[Any, Any], grad_output: Any, *options: Any) -> Any:
    """The gradient of (input, weight)[of], of which the size is given: its value does not matter."""
    pair = [grad_output.new_zeros(v) if k == of else v.detach() for k, v in enumerate(given)]
    with torch.enable_grad():
        pair[of].requires_grad_()
        return torch.autograd.grad(getattr(F, name)(*pair, None, *options), pair[of], grad_output)[0]


def _of_input(name: str) -> Any:
    return lambda input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1: _gradient(
        name, 0, (input_size, weight), grad_output, stride, padding, dilation, groups
    )


def _of_weight(name: str) -> Any:
    return lambda input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1: _gradient(
        name, 1, (input, weight_size), grad_output, stride, padding, dilation, groups
    )


conv1d_input, conv2d_input, conv3d_input = map(_of_input, ("conv1d", "conv2d", "conv3d"))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, ("conv1d", "conv2d", "conv3d"))
