"""Gradients of convolutions as functions (torch.nn.grad): conv2d_input, conv2d_weight and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight.func.derivatives import Pullback
from rushlight.nn import functional as F

Tensor = torch.Tensor
Sizes = int | Sequence[int]


def _gradient(name: str, of: int, given: tuple[Any, Any], grad_output: Tensor, *options: Any) -> Tensor:
    """The gradient of (input, weight)[of], of which the size is given: its value does not matter.

    It is a function of the other one and of grad_output, and differentiable in both.
    """
    ndim = int(name[4]) + 2
    if len(given[of]) != ndim or given[1 - of].ndim != ndim:
        raise RuntimeError(
            f"{name}: expected {ndim} sizes and a tensor of {ndim} dims, got {len(given[of])} and "
            f"{given[1 - of].ndim}"
        )
    convolve, other = getattr(F, name), given[1 - of]

    def of_one(one: Tensor) -> Any:
        pair = (one, other) if of == 0 else (other, one)
        return convolve(*pair, None, *options)

    point = Pullback(
        None,
        lambda primals: of_one(*primals),
        (grad_output.new_zeros(given[of]),),
        False,
        f"{name}'s gradient",
    )
    found: Tensor = point.back([grad_output])[0]
    return found


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
