"""Templates of torch.nn's functions: layers, losses, pooling, resampling, recurrence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.jit.program import runtime as rt
from rushlight.jit.templates.table import of_tensors
from rushlight.nn import functional as F
from rushlight.nn.utils import rnn
from rushlight.toplevel import encoder

Scalar = int | float | bool

# --- normalisation, activations, embeddings -------------------------------------------------------


@of_tensors("batch_norm")
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@of_tensors("instance_norm")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@of_tensors("elu")
def elu(input: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Tensor:
    return F.elu(input, alpha)


@of_tensors("elu_")
def elu_(input: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Tensor:
    return F.elu_(input, alpha)


@of_tensors("log_sigmoid")
def log_sigmoid(input: Tensor) -> Tensor:
    return F.logsigmoid(input)


@of_tensors("embedding")
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    return torch.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)


@of_tensors("_convolution_mode")
def convolution_mode(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: str,
    dilation: list[int],
    groups: int,
) -> Tensor:
    return rt.convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)


@of_tensors("_weight_norm")
def weight_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    return torch._weight_norm(v, g, dim)


# --- losses ---------------------------------------------------------------------------------------


@of_tensors("cross_entropy_loss")
def cross_entropy_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    return F.cross_entropy(
        input,
        target,
        weight=weight,
        reduction=rt.REDUCTIONS[reduction],
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )


@of_tensors("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    return F.nll_loss(
        input, target, weight=weight, reduction=rt.REDUCTIONS[reduction], ignore_index=ignore_index
    )


# --- padding and pooling --------------------------------------------------------------------------


@of_tensors("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(input: Tensor, padding: list[int]) -> Tensor:
    return F.pad(input, padding, "reflect")


@of_tensors("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(input: Tensor, padding: list[int]) -> Tensor:
    return F.pad(input, padding, "replicate")


@of_tensors("max_pool1d")
def max_pool1d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Tensor:
    return F.max_pool1d(input, kernel_size, rt.given(stride), padding, dilation, ceil_mode)


@of_tensors("max_pool2d")
def max_pool2d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Tensor:
    return F.max_pool2d(input, kernel_size, rt.given(stride), padding, dilation, ceil_mode)


@of_tensors("max_pool3d")
def max_pool3d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Tensor:
    return F.max_pool3d(input, kernel_size, rt.given(stride), padding, dilation, ceil_mode)


@of_tensors("max_pool1d_with_indices")
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Any:
    return F.max_pool1d(
        input, kernel_size, rt.given(stride), padding, dilation, ceil_mode, return_indices=True
    )


@of_tensors("max_pool2d_with_indices")
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Any:
    return F.max_pool2d(
        input, kernel_size, rt.given(stride), padding, dilation, ceil_mode, return_indices=True
    )


@of_tensors("max_pool3d_with_indices")
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Any:
    return F.max_pool3d(
        input, kernel_size, rt.given(stride), padding, dilation, ceil_mode, return_indices=True
    )


@of_tensors("avg_pool1d")
def avg_pool1d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Tensor:
    return F.avg_pool1d(input, kernel_size, rt.given(stride), padding, ceil_mode, count_include_pad)


@of_tensors("avg_pool2d")
def avg_pool2d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return F.avg_pool2d(
        input, kernel_size, rt.given(stride), padding, ceil_mode, count_include_pad, divisor_override
    )


@of_tensors("avg_pool3d")
def avg_pool3d(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    return F.avg_pool3d(
        input, kernel_size, rt.given(stride), padding, ceil_mode, count_include_pad, divisor_override
    )


@of_tensors("adaptive_max_pool1d")
def adaptive_max_pool1d(input: Tensor, output_size: list[int]) -> Any:
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


@of_tensors("adaptive_max_pool2d")
def adaptive_max_pool2d(input: Tensor, output_size: list[int]) -> Any:
    return F.adaptive_max_pool2d(input, output_size, return_indices=True)


@of_tensors("adaptive_max_pool3d")
def adaptive_max_pool3d(input: Tensor, output_size: list[int]) -> Any:
    return F.adaptive_max_pool3d(input, output_size, return_indices=True)


# --- resampling -----------------------------------------------------------------------------------
#
# The overloads `vec` say a size or factors for all dims; the others a size, and the factor of each dim.


@of_tensors("max_unpool2d")
def max_unpool2d(input: Tensor, indices: Tensor, output_size: list[int]) -> Tensor:
    return rt.max_unpool(input, indices, output_size)


@of_tensors("max_unpool3d")
def max_unpool3d(
    input: Tensor, indices: Tensor, output_size: list[int], stride: list[int], padding: list[int]
) -> Tensor:
    return rt.max_unpool(input, indices, output_size)


@of_tensors("upsample_nearest1d")
def upsample_nearest1d(input: Tensor, output_size: list[int], scales: float | None) -> Tensor:
    return rt.upsample("nearest", input, output_size, None, scales)


@of_tensors("upsample_nearest2d")
def upsample_nearest2d(
    input: Tensor, output_size: list[int], scales_h: float | None, scales_w: float | None
) -> Tensor:
    return rt.upsample("nearest", input, output_size, None, scales_h, scales_w)


@of_tensors("upsample_bilinear2d")
def upsample_bilinear2d(
    input: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Tensor:
    return rt.upsample("bilinear", input, output_size, align_corners, scales_h, scales_w)


@of_tensors("_upsample_nearest_exact1d")
def upsample_nearest_exact1d(input: Tensor, output_size: list[int], scales: float | None) -> Tensor:
    return rt.upsample("nearest-exact", input, output_size, None, scales)


@of_tensors("_upsample_nearest_exact2d")
def upsample_nearest_exact2d(
    input: Tensor, output_size: list[int], scales_h: float | None, scales_w: float | None
) -> Tensor:
    return rt.upsample("nearest-exact", input, output_size, None, scales_h, scales_w)


@of_tensors("_upsample_nearest_exact3d")
def upsample_nearest_exact3d(
    input: Tensor,
    output_size: list[int],
    scales_d: float | None,
    scales_h: float | None,
    scales_w: float | None,
) -> Tensor:
    return rt.upsample("nearest-exact", input, output_size, None, scales_d, scales_h, scales_w)


@of_tensors("_upsample_bilinear2d_aa")
def upsample_bilinear2d_aa(
    input: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Tensor:
    return rt.upsample_vec("bilinear", input, output_size, align_corners, None, True)


@of_tensors("_upsample_bicubic2d_aa")
def upsample_bicubic2d_aa(
    input: Tensor,
    output_size: list[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Tensor:
    return rt.upsample_vec("bicubic", input, output_size, align_corners, None, True)


@of_tensors("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(
    input: Tensor, output_size: list[int] | None, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("nearest", input, output_size, None, scale_factors)


@of_tensors("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec")
def upsample_nearest_exact(
    input: Tensor, output_size: list[int] | None, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("nearest-exact", input, output_size, None, scale_factors)


@of_tensors("upsample_linear1d.vec")
def upsample_linear(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("linear", input, output_size, align_corners, scale_factors)


@of_tensors("upsample_bilinear2d.vec")
def upsample_bilinear(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("bilinear", input, output_size, align_corners, scale_factors)


@of_tensors("upsample_bicubic2d.vec")
def upsample_bicubic(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("bicubic", input, output_size, align_corners, scale_factors)


@of_tensors("upsample_trilinear3d.vec")
def upsample_trilinear(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("trilinear", input, output_size, align_corners, scale_factors)


@of_tensors("_upsample_bilinear2d_aa.vec")
def upsample_bilinear_aa(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("bilinear", input, output_size, align_corners, scale_factors, True)


@of_tensors("_upsample_bicubic2d_aa.vec")
def upsample_bicubic_aa(
    input: Tensor, output_size: list[int] | None, align_corners: bool, scale_factors: list[float] | None
) -> Tensor:
    return rt.upsample_vec("bicubic", input, output_size, align_corners, scale_factors, True)


# --- recurrence -----------------------------------------------------------------------------------


@of_tensors("_pack_padded_sequence")
def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> Any:
    return rnn._pack(input, lengths, batch_first)


@of_tensors("_pad_packed_sequence")
def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Scalar, total_length: int
) -> Any:
    packed = rnn.PackedSequence(data, batch_sizes)
    return rnn.pad_packed_sequence(packed, batch_first, padding_value, total_length)


# Ops that are a function of this package on the same arguments.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "embedding_bag": rt.embedding_bag,
    "embedding_renorm_": rt.embedding_renorm_,
    "_convolution": rt.convolution,
    "convolution": rt.convolution,
    "__interpolate": rt.interpolate,
    "_native_multi_head_attention": encoder._native_multi_head_attention,
    "_transformer_encoder_layer_fwd": encoder._transformer_encoder_layer_fwd,
}
for _op, _function in _FUNCTIONS.items():
    of_tensors(_op)(_function)
