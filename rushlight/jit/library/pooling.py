"""torch.nn.functional's pools, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.jit import annotate


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
    norm_type: number,
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
    norm_type: number,
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
    norm_type: number,
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


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0,),
    output_size: list[int] | None = None,
):
    step = kernel_size if stride is None else stride
    if output_size is None:
        size = annotate(list[int], [])
        for i in range(1):
            size.append((input.size(i - 1) - 1) * step[i] - 2 * padding[i] + kernel_size[i])
    else:
        size = output_size[-1:]
    found = torch.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [size[0], 1])
    return found.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0),
    output_size: list[int] | None = None,
):
    step = kernel_size if stride is None else stride
    if output_size is None:
        size = annotate(list[int], [])
        for i in range(2):
            size.append((input.size(i - 2) - 1) * step[i] - 2 * padding[i] + kernel_size[i])
    else:
        size = output_size[-2:]
    return torch.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: list[int],
    stride: list[int] | None = None,
    padding: list[int] = (0, 0, 0),
    output_size: list[int] | None = None,
):
    step = kernel_size if stride is None else stride
    if output_size is None:
        size = annotate(list[int], [])
        for i in range(3):
            size.append((input.size(i - 3) - 1) * step[i] - 2 * padding[i] + kernel_size[i])
    else:
        size = output_size[-3:]
    return torch.max_unpool3d(input, indices, size, step, padding)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: list[int],
    output_size: list[int] | None = None,
    output_ratio: list[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
):
    if output_size is not None:
        size = output_size
    elif output_ratio is not None:
        size = [int(input.size(-2) * output_ratio[0]), int(input.size(-1) * output_ratio[1])]
    else:
        raise ValueError("fractional_max_pool2d requires specifying either an output_size or an output_ratio")
    if _random_samples is None:
        count = 1 if input.dim() == 3 else input.size(0)
        samples = torch.rand([count, input.size(-3), 2], dtype=input.dtype, device=input.device)
    else:
        samples = _random_samples
    return torch.fractional_max_pool2d(input, kernel_size, size, samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: list[int],
    output_size: list[int] | None = None,
    output_ratio: list[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
):
    if output_size is not None:
        size = output_size
    elif output_ratio is not None:
        size = [
            int(input.size(-3) * output_ratio[0]),
            int(input.size(-2) * output_ratio[1]),
            int(input.size(-1) * output_ratio[2]),
        ]
    else:
        raise ValueError("fractional_max_pool3d requires specifying either an output_size or an output_ratio")
    if _random_samples is None:
        count = 1 if input.dim() == 4 else input.size(0)
        samples = torch.rand([count, input.size(-4), 3], dtype=input.dtype, device=input.device)
    else:
        samples = _random_samples
    return torch.fractional_max_pool3d(input, kernel_size, size, samples)


class nn_functional:
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

    def max_pool1d(
        input: Tensor,
        kernel_size: list[int],
        stride: list[int] | None = None,
        padding: list[int] = (0,),
        dilation: list[int] = (1,),
        ceil_mode: bool = False,
        return_indices: bool = True,
    ):
        step = annotate(list[int], []) if stride is None else stride
        return torch.max_pool1d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)

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

    def max_pool2d(
        input: Tensor,
        kernel_size: list[int],
        stride: list[int] | None = None,
        padding: list[int] = (0, 0),
        dilation: list[int] = (1, 1),
        ceil_mode: bool = False,
        return_indices: bool = True,
    ):
        step = annotate(list[int], []) if stride is None else stride
        return torch.max_pool2d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)

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

    def max_pool3d(
        input: Tensor,
        kernel_size: list[int],
        stride: list[int] | None = None,
        padding: list[int] = (0, 0, 0),
        dilation: list[int] = (1, 1, 1),
        ceil_mode: bool = False,
        return_indices: bool = True,
    ):
        step = annotate(list[int], []) if stride is None else stride
        return torch.max_pool3d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)

    def adaptive_max_pool1d(input: Tensor, output_size: list[int], return_indices: bool = False):
        return torch.adaptive_max_pool1d(input, output_size)[0]

    def adaptive_max_pool1d(input: Tensor, output_size: list[int], return_indices: bool = True):
        return torch.adaptive_max_pool1d(input, output_size)

    def adaptive_max_pool2d(input: Tensor, output_size: list[int], return_indices: bool = False):
        return torch.adaptive_max_pool2d(input, output_size)[0]

    def adaptive_max_pool2d(input: Tensor, output_size: list[int], return_indices: bool = True):
        return torch.adaptive_max_pool2d(input, output_size)

    def adaptive_max_pool3d(input: Tensor, output_size: list[int], return_indices: bool = False):
        return torch.adaptive_max_pool3d(input, output_size)[0]

    def adaptive_max_pool3d(input: Tensor, output_size: list[int], return_indices: bool = True):
        return torch.adaptive_max_pool3d(input, output_size)

    def fractional_max_pool2d(
        input: Tensor,
        kernel_size: list[int],
        output_size: list[int] | None = None,
        output_ratio: list[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        return torch.nn.functional.fractional_max_pool2d_with_indices(
            input, kernel_size, output_size, output_ratio, True, _random_samples
        )[0]

    def fractional_max_pool2d(
        input: Tensor,
        kernel_size: list[int],
        output_size: list[int] | None = None,
        output_ratio: list[float] | None = None,
        return_indices: bool = True,
        _random_samples: Tensor | None = None,
    ):
        return torch.nn.functional.fractional_max_pool2d_with_indices(
            input, kernel_size, output_size, output_ratio, True, _random_samples
        )

    def fractional_max_pool3d(
        input: Tensor,
        kernel_size: list[int],
        output_size: list[int] | None = None,
        output_ratio: list[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        return torch.nn.functional.fractional_max_pool3d_with_indices(
            input, kernel_size, output_size, output_ratio, True, _random_samples
        )[0]

    def fractional_max_pool3d(
        input: Tensor,
        kernel_size: list[int],
        output_size: list[int] | None = None,
        output_ratio: list[float] | None = None,
        return_indices: bool = True,
        _random_samples: Tensor | None = None,
    ):
        return torch.nn.functional.fractional_max_pool3d_with_indices(
            input, kernel_size, output_size, output_ratio, True, _random_samples
        )
