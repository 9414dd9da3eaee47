"""torch.cudnn_convolution and its like: convolutions by the names of cuDNN's kernels, on CUDA alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.out_arguments import write
from rushlight._engine.tensors.tensor import Tensor


def _check(name: str, *tensors: Tensor | None) -> None:
    """NotImplementedError for tensors of other devices."""
    for tensor in tensors:
        if tensor is not None and not tensor.is_cuda:
            where = tensor.device.type.upper()
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the '{where}' backend. This could be "
                "because the operator doesn't exist for this backend; it is there for CUDA devices."
            )


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    turned: Sequence[int] | None = None,
) -> Tensor:
    """convolution; `turned`: the transposed one, with this output padding."""
    more = [0] * len(padding) if turned is None else turned
    convolve: Any = torch.convolution
    found: Tensor = convolve(input, weight, bias, stride, padding, dilation, turned is not None, more, groups)
    return found


def cudnn_convolution(
    input: Tensor,
    weight: Tensor,
    padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    benchmark: bool,
    deterministic: bool,
    allow_tf32: bool,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """convolution of (N, C, *in) with (O, C / groups, *k), without a bias.

    benchmark, deterministic, allow_tf32: accepted. NotImplementedError for tensors of other devices.
    """
    _check("cudnn_convolution", input, weight)
    found = _convolution(input, weight, None, stride, padding, dilation, groups)
    if out is None:
        return found
    write("cudnn_convolution", out, found)
    return out


def cudnn_convolution_transpose(
    input: Tensor,
    weight: Tensor,
    padding: Sequence[int],
    output_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    benchmark: bool,
    deterministic: bool,
    allow_tf32: bool,
) -> Tensor:
    """The transposed convolution of (N, C, *in) with (C, O / groups, *k), without a bias.

    benchmark, deterministic, allow_tf32: accepted. NotImplementedError for tensors of other devices.
    """
    _check("cudnn_convolution_transpose", input, weight)
    return _convolution(input, weight, None, stride, padding, dilation, groups, output_padding)


def cudnn_convolution_relu(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """relu of a convolution. NotImplementedError for tensors of other devices."""
    _check("cudnn_convolution_relu", input, weight, bias)
    return _convolution(input, weight, bias, stride, padding, dilation, groups).relu()


def cudnn_convolution_add_relu(
    input: Tensor,
    weight: Tensor,
    z: Tensor,
    alpha: float | None,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """relu of a convolution and alpha * z; alpha is 1 by default. NotImplementedError for other devices."""
    _check("cudnn_convolution_add_relu", input, weight, z, bias)
    found = _convolution(input, weight, bias, stride, padding, dilation, groups)
    return found.add(z, alpha=1 if alpha is None else alpha).relu()
