"""Gradients of convolutions as functions (torch.nn.grad): conv2d_input, conv2d_weight and their like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight.nn import functional as F

Tensor = torch.Tensor
Sizes = int | Sequence[int]


def _gradient(name: str, of: int, given: tuple[Any, Any], grad_output: Tensor, *options: Any) -> Tensor:
    """The gradient of (input, weight)[of], of which the size is given: its value does not matter.

    It is a function of the other one and of grad_output, and differentiable in both.
    """
    asked = torch.is_grad_enabled()
    pair = [grad_output.new_zeros(v) if k == of else v for k, v in enumerate(given)]
    with torch.enable_grad():
        pair[of].requires_grad_()
        found = getattr(F, name)(*pair, None, *options)
        gradient: Tensor = torch.autograd.grad(found, pair[of], grad_output, create_graph=asked)[0]
    return gradient


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv1d's input, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv1d", 0, (input_size, weight), grad_output, *options)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv1d's weight, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv1d", 1, (input, weight_size), grad_output, *options)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv2d's input, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv2d", 0, (input_size, weight), grad_output, *options)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv2d's weight, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv2d", 1, (input, weight_size), grad_output, *options)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv3d's input, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv3d", 0, (input_size, weight), grad_output, *options)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of conv3d's weight, of which the size is given, from that of its result."""
    options = stride, padding, dilation, groups
    return _gradient("conv3d", 1, (input, weight_size), grad_output, *options)
