"""torch.nn.functional's pools, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.jit import annotate


def max_pool1d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0,),
    dilation: list[int] = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.max_pool1d(input, kernel_size, step, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0),
    dilation: list[int] = (1, 1),
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.max_pool2d(input, kernel_size, step, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0, 0),
    dilation: list[int] = (1, 1, 1),
    ceil_mode: bool = False,
    return_indices: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.max_pool3d(input, kernel_size, step, padding, dilation, ceil_mode)


def avg_pool1d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.avg_pool1d(input, kernel_size, step, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.avg_pool2d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
):
    step = annotate(list[int], []) if stride is None else stride
    return torch.avg_pool3d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: list[int],
    stride: list[int] | None = None,
    ceil_mode: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    means = torch.avg_pool1d(input.pow(norm_type), kernel_size, step, [0], ceil_mode)
    size = kernel_size[0]
    return (torch.sign(means) * torch.relu(torch.abs(means)) * size).pow(1.0 / norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: list[int],
    stride: list[int] | None = None,
    ceil_mode: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    means = torch.avg_pool2d(input.pow(norm_type), kernel_size, step, [0, 0], ceil_mode)
    size = kernel_size[0] * kernel_size[1]
    return (torch.sign(means) * torch.relu(torch.abs(means)) * size).pow(1.0 / norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: list[int],
    stride: list[int] | None = None,
    ceil_mode: bool = False,
):
    step = annotate(list[int], []) if stride is None else stride
    means = torch.avg_pool3d(input.pow(norm_type), kernel_size, step, [0, 0, 0], ceil_mode)
    size = kernel_size[0] * kernel_size[1] * kernel_size[2]
    return (torch.sign(means) * torch.relu(torch.abs(means)) * size).pow(1.0 / norm_type)


def adaptive_avg_pool1d(input: Tensor, output_size: list[int]):
    return torch.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: list[int]):
    return torch.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: list[int]):
    return torch.adaptive_avg_pool3d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: list[int], return_indices: bool = False):
    return torch.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool2d(input: Tensor, output_size: list[int], return_indices: bool = False):
    return torch.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool3d(input: Tensor, output_size: list[int], return_indices: bool = False):
    return torch.adaptive_max_pool3d(input, output_size)[0]
