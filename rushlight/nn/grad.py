"""Gradients of convolutions as functions (torch.nn.grad)."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F


def _gradient(convolve: Any, input: Any, weight: Any, wanted: Any, grad_output: Any, stride: Any,
              padding: Any, dilation: Any, groups: int) -> Any:
    """Of a convolution, whose own value does not matter, with respect to `wanted`."""
    with torch.enable_grad():
        wanted.requires_grad_()
        result = convolve(input, weight, None, stride, padding, dilation, groups)
        return torch.autograd.grad(result, wanted, grad_output)[0]


def _of_input(name: str) -> Any:
    def gradient(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Any:
        blank = grad_output.new_zeros(input_size)
        return _gradient(getattr(F, name), blank, weight.detach(), blank, grad_output, stride,
                         padding, dilation, groups)
    gradient.__name__ = f"{name}_input"
    gradient.__doc__ = f"The gradient of {name} with respect to its input of size `input_size`."
    return gradient


def _of_weight(name: str) -> Any:
    def gradient(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Any:
        blank = grad_output.new_zeros(weight_size)
        return _gradient(getattr(F, name), input.detach(), blank, blank, grad_output, stride,
                         padding, dilation, groups)
    gradient.__name__ = f"{name}_weight"
    gradient.__doc__ = f"The gradient of {name} with respect to its weight of size `weight_size`."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_of_input, ("conv1d", "conv2d", "conv3d"))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, ("conv1d", "conv2d", "conv3d"))
