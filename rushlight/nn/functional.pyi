# Written by `python tools/stubs.py`.
"""torch.nn.functional: the rows of that namespace in the op table, and what is written with them.

A name is looked up here, then in the table; `relu`, `conv2d`, `cross_entropy`, ... are rows.
"""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight._engine.tensors.generator import Generator
from typing import Any, Literal, overload

from rushlight.nn.multihead_attention import multi_head_attention_forward as multi_head_attention_forward
from rushlight.nn.scaled import ScalingType as ScalingType
from rushlight.nn.scaled import SwizzleType as SwizzleType
from rushlight.nn.scaled import grouped_mm as grouped_mm
from rushlight.nn.scaled import scaled_grouped_mm as scaled_grouped_mm
from rushlight.nn.scaled import scaled_mm as scaled_mm
GRID_SAMPLE_INTERPOLATION_MODES: dict[Any, Any]
GRID_SAMPLE_PADDING_MODES: dict[Any, Any]
def _check_linear_cross_entropy(input: Tensor, weight: Tensor, bias: Tensor, target: Tensor, ignore_index: int | None) -> None: ...
def _upsample(name: str, *args: Any, **kwargs: Any) -> Tensor: ...
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    input (N, in) or (in,); linear_weight (C, in) or (C, d1, ..., in) for targets (N, d1, ...).
    """
def normalize(input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """input over its p-norm along `dim`, or over eps where the norm is smaller."""
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
def tanh(input: Tensor) -> Tensor:
    """tanh(input)."""
def upsample(input: Tensor, size: Sequence[int] | int | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """Deprecated: use interpolate."""
def upsample_bilinear(input: Tensor, size: Sequence[int] | int | None = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: use interpolate with align_corners=True."""
def upsample_nearest(input: Tensor, size: Sequence[int] | int | None = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: use interpolate."""
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The mean of windows that divide the space of (N, C, L) or (C, L) into output_size parts."""
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of windows that divide the space of (N, C, H, W) or (C, H, W) into output_size parts. None keeps a size."""
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The mean of windows that divide the space of (N, C, D, H, W) or (C, D, H, W) into output_size parts. None keeps a size."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: Literal[False] = False) -> Tensor:
    """The maximum of windows that divide the space of (N, C, L) or (C, L) into output_size parts."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, L) or (C, L) into output_size parts."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """The maximum of windows that divide the space of (N, C, L) or (C, L) into output_size parts."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, L) or (C, L) into output_size parts, and its place."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of windows that divide the space of (N, C, H, W) or (C, H, W) into output_size parts."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, H, W) or (C, H, W) into output_size parts."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any:
    """The maximum of windows that divide the space of (N, C, H, W) or (C, H, W) into output_size parts."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, H, W) or (C, H, W) into output_size parts, and its place."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of windows that divide the space of (N, C, D, H, W) or (C, D, H, W) into output_size parts."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, D, H, W) or (C, D, H, W) into output_size parts."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any:
    """The maximum of windows that divide the space of (N, C, D, H, W) or (C, D, H, W) into output_size parts."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of windows that divide the space of (N, C, D, H, W) or (C, D, H, W) into output_size parts, and its place."""
def affine_grid(theta: Tensor, size: Sequence[int] | int, align_corners: bool | None = None) -> Tensor:
    """The grid (N, *space, dims) of an image (N, C, *space) under affine maps theta (N, dims, dims + 1)."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout that keeps SELU's mean and variance."""
def avg_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] = (), padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L).

    stride: kernel_size unless given. count_include_pad: padding counts as zeros, else not at all.
    Sizes and ceil_mode as of max_pool.
    """
def avg_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W).

    stride: kernel_size unless given. count_include_pad: padding counts as zeros, else not at all.
    Sizes and ceil_mode as of max_pool.
    """
def avg_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    stride: kernel_size unless given. count_include_pad: padding counts as zeros, else not at all.
    Sizes and ceil_mode as of max_pool.
    """
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel of (N, C, *) over batch and space, by its own or the running moments
    (arXiv:1502.03167).

    training: its own, with which the running ones (C,) are updated in place, the variance unbiased, by
    `momentum`. weight, bias: (C,) or None. ValueError for one value per channel in training.
    """
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 for each k: (*, in1), (*, in2), (out, in1, in2) -> (*, out)."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) of probabilities x and targets t, logs cut off at -100; its mean, sum,
    or each.

    ValueError where the shapes differ, RuntimeError for numbers outside [0, 1] and where the dtypes differ.
    weight: expands to the input.
    """
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target) without overflow; its mean, sum, or each.

    pos_weight multiplies the terms of positive targets, weight all. The result has the target's dtype where
    that is a lower one. ValueError where the shapes differ, RuntimeError for integer targets.
    """
def celu(input: Tensor, alpha: int | float | complex = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    Any shape.
    """
def celu_(input: Tensor, alpha: int | float | complex = 1.0) -> Tensor:
    """In-place version of celu."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """The 1-d convolution of (N, C, L) or (C, L) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """The 2-d convolution of (N, C, H, W) or (C, H, W) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """The 3-d convolution of (N, C, D, H, W) or (C, D, H, W) by weight (O, C / groups, *k): (N, O, *out).

    bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size
    becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.
    """
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """The convolution of (time, N, C) by (k, C, O), a bias (O,), `pad` zeros at both ends -> (out, N, O)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The transposed convolution of (N, C, L) or (C, L) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The transposed convolution of (N, C, H, W) or (C, H, W) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Tensor:
    """The transposed convolution of (N, C, D, H, W) or (C, D, H, W) by weight (C, O / groups, *k): (N, O, *out).

    The gradient of a convolution by its input. A size becomes
    (size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.
    """
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """1 - cos where y = 1, max(0, cos - margin) where y = -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along dim, each norm at least eps."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """The cross-entropy of logits (N, C, *) or (C,) and int64 classes (N, *) or (), or probabilities like the
    logits.

    Its mean (over the weights of targets that count), sum, or each (N, *). weight (C,): of each class.
    Targets ignore_index (-100) do not count; IndexError for others outside [0, C). label_smoothing in [0, 1]
    mixes targets with the uniform distribution.
    """
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int] | Tensor, target_lengths: Sequence[int] | Tensor, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """The negative log-likelihood of label sequences, over all alignments (Graves et al., ICML 2006).

    log_probs (T, N, C) or (T, C); targets (N, S) or all labels in one row. The gradient takes log_probs for
    log_softmax's, as PyTorch's does, and cannot be differentiated again.
    """
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element zero with probability p, the others divided by 1 - p, in training; else the input itself."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels of (N, C, L) or (C, L)."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels of (N, C, H, W); of (N, C, L) too, as in PyTorch."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
def elu(input: Tensor, alpha: int | float | complex = 1.0, inplace: bool = False) -> Tensor:
    """x above 0, else alpha (exp(x) - 1).

    Any shape.
    """
def elu_(input: Tensor, alpha: int | float | complex = 1.0) -> Tensor:
    """In-place version of elu."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of weight (num_embeddings, dim) that the integers in input name.

    max_norm rescales used rows of weight in place; scale_grad_by_freq divides gradients by how
    often the row was used.
    """
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows that each bag of indices names."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels (dim 1)."""
def fold(input: Tensor, output_size: int | Sequence[int | None] | None, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """Columns added up where their windows lie: the transpose of unfold."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The maximum of drawn windows of (N, C, H, W) or (C, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of drawn windows of (N, C, H, W) or (C, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The maximum of drawn windows of (N, C, H, W) or (C, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int | None] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maximum of drawn windows of (N, C, H, W) or (C, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The maximum of drawn windows of (N, C, D, H, W) or (C, D, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of drawn windows of (N, C, D, H, W) or (C, D, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The maximum of drawn windows of (N, C, D, H, W) or (C, D, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int | None] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maximum of drawn windows of (N, C, D, H, W) or (C, D, H, W) (with its place, int64, if return_indices).

    output_size, or output_ratio in (0, 1) of the input's, says how many (ValueError for neither).
    """
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | int | float | complex, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """0.5 (log var + (input - target) ** 2 / var), var at least eps."""
def gelu(input: Tensor, *, approximate: str = 'none') -> Tensor:
    """x * Phi(x), Phi the normal distribution; or its tanh approximation (arXiv:1606.08415).

    Any shape.
    """
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim times the sigmoid of the second (arXiv:1612.08083)."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """The values (N, C, *out) of input (N, C, *space) at the points of grid (N, *out, dims).

    grid: coordinates (x, y) or (x, y, z), -1 and 1 being the borders.  mode: "bilinear", "nearest" or
    "bicubic".  padding_mode: what lies outside: "zeros", the "border", or a "reflection".
    """
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """layer_norm over groups of channels: (N, C, *) in num_groups groups (arXiv:1803.08494); weight, bias:
    (C,) or None.

    RuntimeError where the groups do not divide the channels.
    """
def gumbel_softmax(logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax of logits plus Gumbel noise; hard: one-hot, with the soft one's gradient."""
def hardshrink(input: Tensor, lambd: int | float | complex = 0.5) -> Tensor:
    """x, 0 where |x| <= lambd.

    Any shape.
    """
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """clamp(x / 6 + 1 / 2, 0, 1).

    Any shape.
    """
def hardsigmoid_(input: Tensor) -> Tensor:
    """In-place version of hardsigmoid."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x).

    Any shape.
    """
def hardswish_(input: Tensor) -> Tensor:
    """In-place version of hardswish."""
def hardtanh(input: Tensor, min_val: int | float | complex = -1.0, max_val: int | float | complex = 1.0, inplace: bool = False) -> Tensor:
    """input clamped to [min_val, max_val].

    Any shape.
    """
def hardtanh_(input: Tensor, min_val: int | float | complex = -1.0, max_val: int | float | complex = 1.0) -> Tensor:
    """In-place version of hardtanh."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """x where y = 1, max(0, margin - x) where y = -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """0.5 d ** 2 for |d| <= delta, else delta (|d| - 0.5 delta), of d = input - target; its mean, sum, or
    each.

    RuntimeError for a delta that is not positive. weight: of each element; the mean is over weights.
    """
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel of each sample of (N, C, *) or (C, *) over space (arXiv:1607.08022); weight,
    bias: (C,) or None.

    use_input_stats=False: by the running moments (C,), which are else updated by `momentum`, where there are
    any.
    """
def interpolate(input: Tensor, size: Sequence[int] | int | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """(N, C, *space) resampled to `size`, or by `scale_factor`.

    mode: nearest (the default), nearest-exact, linear, bilinear, bicubic, trilinear, area, or lanczos, which
    asks for antialias=True.
    """
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """target * (log(target) - input) of log-probabilities; its mean, sum, or each, "batchmean" over the first
    size.

    log_target: the target is in log-space, too. Only "batchmean" is the divergence: "mean" warns.
    """
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """|input - target|: its mean (over weights), sum, or each; shapes broadcast, with a warning."""
def layer_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dims (arXiv:1607.06450), of the input's
    shape and dtype.

    weight, bias: of normalized_shape, or None. The variance is biased. RuntimeError where the last sizes
    differ.
    """
def leaky_relu(input: Tensor, negative_slope: int | float | complex = 0.01, inplace: bool = False) -> Tensor:
    """x, times negative_slope below 0.

    Any shape.
    """
def leaky_relu_(input: Tensor, negative_slope: int | float | complex = 0.01) -> Tensor:
    """In-place version of leaky_relu."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias: (*, in) with a weight (out, in) and a bias (out,) or None gives (*, out).

    RuntimeError for other sizes, or two dtypes.
    """
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of x ** 2 over `size` neighbouring channels) ** beta."""
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow.

    dtype: what the input is converted to. Without dim: 0 for 0, 1 or 3 dims, else 1, with a warning.
    """
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) without overflow; PyTorch's result is contiguous."""
def lp_pool1d(input: Tensor, norm_type: int | float | complex, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, L) or (C, L), p = norm_type."""
def lp_pool2d(input: Tensor, norm_type: int | float | complex, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, H, W) or (C, H, W), p = norm_type."""
def lp_pool3d(input: Tensor, norm_type: int | float | complex, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W), p = norm_type."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, L) or (C, L); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, H, W) or (C, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, H, W) or (C, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, H, W) or (C, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, H, W) or (C, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); and its place, int64, if return_indices.

    stride: kernel_size unless given. padding counts as -inf, at most half of kernel_size. A size
    becomes (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; with ceil_mode, a
    last window that reaches over the end counts. RuntimeError where nothing is left.
    """
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, output_size: int | Sequence[int | None] | None = None) -> Tensor:
    """The maxima (N, C, L) or (C, L) of windows put back at their places (int64), 0 elsewhere.

    output_size chooses among the sizes that pooling makes this one of; ValueError for others.
    """
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | str | Sequence[int] = 0, output_size: int | Sequence[int] | None = None) -> Tensor:
    """The maxima (N, C, H, W) or (C, H, W) of windows put back at their places (int64), 0 elsewhere.

    output_size chooses among the sizes that pooling makes this one of; ValueError for others.
    """
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: int | Sequence[int] | None = None) -> Tensor:
    """The maxima (N, C, D, H, W) or (C, D, H, W) of windows put back at their places (int64), 0 elsewhere.

    output_size chooses among the sizes that pooling makes this one of; ValueError for others.
    """
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)).

    Any shape.
    """
def mish_(input: Tensor) -> Tensor:
    """In-place version of mish."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """(input - target) ** 2: its mean (over weights), sum, or each; shapes broadcast, with a warning."""
def multi_margin_loss(input: Tensor, target: Tensor, p: int | float | complex = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum over other classes of max(0, margin - x[y] + x[i]) ** p, over C."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """Over labels j (up to the first -1) and other classes i: max(0, 1 - x[j] + x[i]), over C."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The mean over classes of binary cross-entropy with logits."""
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of (N, C, *) dealt out over groups (arXiv:1707.01083)."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """-input[target] of log-probabilities (N, C, *) or (C,) and int64 classes (N, *) or (); its mean, sum, or
    each.

    weight (C,): of each class; the mean is over weights. Targets ignore_index (-100) do not count; IndexError
    for others outside [0, C).
    """
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dim with a 1 at the position that the element names, 0 elsewhere."""
def pad(input: Tensor, pad: int | Sequence[int], mode: str = 'constant', value: int | float | complex | None = None) -> Tensor:
    """input extended at both ends of its last dims: pad = (left, right, top, bottom, ...), the last dim
    first.

    mode: "constant" (`value`, 0 by default; negative sizes cut off), "reflect", "replicate" or "circular",
    which take 1 to 3 dims of (N, C, *) or (C, *). RuntimeError for an odd number of sizes, or more than the
    input has dims.
    """
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows i < j of a matrix, as a vector."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r r, H, W) -> (*, C, H r, W r) (arXiv:1609.05158)."""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H r, W r) -> (*, C r r, H, W)."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """exp(x) - t x (or x - t log(x + eps)), plus Stirling's term for t > 1 when full."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x above 0, else weight * x, with one weight, or one a channel (arXiv:1502.01852)."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0), nan kept; its gradient at 0 is 0.

    Any shape.
    """
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input clamped to [0, 6].

    Any shape.
    """
def relu6_(input: Tensor) -> Tensor:
    """In-place version of relu6."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of relu."""
def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x ** 2) + eps) * weight over the last dims (arXiv:1910.07467)."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """input where positive, else input times a slope: random while training, else the mean one."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, generator: Generator | None = None) -> Tensor:
    """rrelu in place."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value: (*, L, E), (*, S, E), (*, S, V) -> (*, L, V).

    attn_mask: bool, True where a query may look, or numbers that are added; expands to (*, L, S). is_causal:
    positions up to the query's own; beside a mask on the CPU alone, for four dims. scale: 1 / sqrt(E) by
    default. dropout_p is applied to the weights, always. enable_gqa: query heads (dim -3) share key heads,
    whose number divides theirs. RuntimeError for other shapes.
    """
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu scaled so that unit variance is kept (arXiv:1706.02515).

    Any shape.
    """
def selu_(input: Tensor) -> Tensor:
    """In-place version of selu."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x).

    Any shape.
    """
def silu_(input: Tensor) -> Tensor:
    """In-place version of silu."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """d^2 / (2 beta) where |d| = |input - target| < beta, else |d| - beta / 2; its mean, sum, or each.

    RuntimeError for a negative beta; 0 is l1_loss. A warning where the shapes differ, which then broadcast.
    """
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """log(1 + exp(-y x))."""
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim.

    dtype: what the input is converted to. Without dim: 0 for 0, 1 or 3 dims, else 1, with a warning.
    """
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _dtype | None = None) -> Tensor:
    """softmax(-input) along dim.

    dtype: what the input is converted to. Without dim: 0 for 0, 1 or 3 dims, else 1, with a warning.
    """
def softplus(input: Tensor, beta: int | float | complex = 1, threshold: int | float | complex = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold.

    Any shape.
    """
def softshrink(input: Tensor, lambd: int | float | complex = 0.5) -> Tensor:
    """x moved towards 0 by lambd.

    Any shape.
    """
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    Any shape. Integers give the default floating dtype.
    """
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x); near 0 by the continued fraction of tanh, without the difference.

    Any shape. Integers give the default floating dtype.
    """
def threshold(input: Tensor, threshold: int | float | complex, value: int | float | complex, inplace: bool = False) -> Tensor:
    """x above threshold, else value.

    Any shape.
    """
def threshold_(input: Tensor, threshold: int | float | complex, value: int | float | complex) -> Tensor:
    """In-place version of threshold."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin) with p-norm distances."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin) with any distance."""
def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | str | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """Windows of (N, C, H, W) as columns: (N, C * kh * kw, L)."""
def __dir__() -> list[str]: ...
