"""Convolution weights in another memory format."""

from __future__ import annotations

from typing import Any

import rushlight as torch


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The module, with its 2-d convolution weights laid out in `memory_format`."""
    return _convert(module, memory_format, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The module, with its 3-d convolution weights laid out in `memory_format`."""
    return _convert(module, memory_format, (torch.nn.Conv3d, torch.nn.ConvTranspose3d))


def _convert(module: Any, memory_format: Any, classes: tuple[type[Any], ...]) -> Any:
    for child in module.modules():
        if isinstance(child, classes):
            weight = child.weight
            dense = weight.detach().clone(memory_format=torch.contiguous_format)
            weight.data = dense.contiguous(memory_format=memory_format)
    return module
