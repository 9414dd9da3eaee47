"""Gradients of convolutions as functions (torch.nn.grad): conv2d_input, conv2d_weight and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch

Tensor = torch.Tensor
Sizes = int | Sequence[int]


def _gradient(name: str, of: int, given: tuple[Any, Any], grad_output: Tensor, *options: Any) -> Tensor:
    """The gradient of (input, weight)[of], of which the size is given: its value does not matter.

    It is a function of the other one and of grad_output, and differentiable in both.
    """
    dims = int(name[4])
    if len(given[of]) != dims + 2 or given[1 - of].ndim != dims + 2:
        raise RuntimeError(
            f"{name}: expected {dims + 2} sizes and a tensor of {dims + 2} dims, got {len(given[of])} and "
            f"{given[1 - of].ndim}"
        )
    *places, groups = options
    stride, padding, dilation = ([p] * dims if isinstance(p, int) else list(p) for p in places)
    pair = list(given)
    pair[of] = grad_output.new_empty(1).expand(given[of])
    aten: Any = torch.ops.aten
    found = aten.convolution_backward(
        grad_output, *pair, None, stride, padding, dilation, False, [0], groups, [of == 0, of == 1, False]
    )
    wanted: Tensor = found[of]
    return wanted


def _of_input(name: str) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        return _gradient(name, 0, (input_size, weight), grad_output, stride, padding, dilation, groups)

    return _named(gradient, name, "input")


def _of_weight(name: str) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        return _gradient(name, 1, (input, weight_size), grad_output, stride, padding, dilation, groups)

    return _named(gradient, name, "weight")


def _named(gradient: Callable[..., Tensor], name: str, what: str) -> Callable[..., Tensor]:
    gradient.__name__ = gradient.__qualname__ = f"{name}_{what}"
    gradient.__doc__ = (
        f"The gradient of {name}'s {what}, of which the size is given, from that of its result."
    )
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_of_input, ("conv1d", "conv2d", "conv3d"))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, ("conv1d", "conv2d", "conv3d"))
