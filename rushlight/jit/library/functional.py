"""torch.nn.functional's functions that are no ops of the same arguments, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor


def _get_enum(reduction: str) -> int:
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")


def relu(input: Tensor, inplace: bool = False):
    return torch.relu_(input) if inplace else torch.relu(input)


def relu6(input: Tensor, inplace: bool = False):
    return torch._C._nn.relu6_(input) if inplace else torch._C._nn.relu6(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
    return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False):
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False):
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False):
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False):
    return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
):
    return (
        torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)
    )


def silu(input: Tensor, inplace: bool = False):
    return torch.silu_(input) if inplace else torch.silu(input)


def mish(input: Tensor, inplace: bool = False):
    return torch.mish_(input) if inplace else torch.mish(input)


def hardswish(input: Tensor, inplace: bool = False):
    return torch.hardswish_(input) if inplace else torch.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False):
    return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False):
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


def logsigmoid(input: Tensor):
    return torch.log_sigmoid(input)


def softsign(input: Tensor):
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor):
    return input - input.tanh()


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None):
    if dim is None:
        dim = _get_softmax_dim(input.dim())
    return torch.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None):
    if dim is None:
        dim = _get_softmax_dim(input.dim())
    return torch.log_softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None):
    if dim is None:
        dim = _get_softmax_dim(input.dim())
    return torch.softmax(torch.neg(input), dim, dtype)


def _get_softmax_dim(ndim: int) -> int:
    return 0 if ndim == 0 or ndim == 1 or ndim == 3 else 1


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False):
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False):
    return (
        torch.feature_alpha_dropout_(input, p, training)
        if inplace
        else torch.feature_alpha_dropout(input, p, training)
    )


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False):
    batched = input if input.dim() == 3 else input.unsqueeze(0)
    found = (
        torch.feature_dropout_(batched, p, training)
        if inplace
        else torch.feature_dropout(batched, p, training)
    )
    return found if input.dim() == 3 else found.squeeze(0)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False):
    return (
        torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)
    )


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False):
    batched = input if input.dim() == 5 else input.unsqueeze(0)
    found = (
        torch.feature_dropout_(batched, p, training)
        if inplace
        else torch.feature_dropout(batched, p, training)
    )
    return found if input.dim() == 5 else found.squeeze(0)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    if training:
        size = input.size()
        count = size[0]
        for i in range(len(size) - 2):
            count *= size[i + 2]
        if count == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
):
    return torch.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
):
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
):
    return torch.group_norm(input, num_groups, weight, bias, eps)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None):
    length = input.norm(p, [dim], True).clamp_min(eps).expand_as(input)
    return input / length if out is None else torch.div(input, length, out=out)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
):
    place = -1
    if padding_idx is not None:
        place = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    if max_norm is not None:
        raise RuntimeError("max_norm is not supported in compiled embeddings")
    return torch.embedding(weight, input, place, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
):
    if max_norm is not None:
        raise RuntimeError("max_norm is not supported in compiled embeddings")
    kind = 0 if mode == "sum" else (1 if mode == "mean" else 2)
    weights = per_sample_weights
    if input.dim() == 2:
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape([-1])
        if weights is not None:
            weights = weights.reshape([-1])
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor where input is 1D")
    found = torch.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, kind, sparse, weights, include_last_offset, padding_idx
    )
    return found[0]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
):
    return torch.cross_entropy_loss(
        input, target, weight, _get_enum(reduction), ignore_index, label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.nll_loss_nd(input, target, weight, _get_enum(reduction), ignore_index)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    both = torch.broadcast_tensors([input, target])
    return torch.mse_loss(both[0], both[1], _get_enum(reduction))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    both = torch.broadcast_tensors([input, target])
    return torch.l1_loss(both[0], both[1], _get_enum(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
):
    both = torch.broadcast_tensors([input, target])
    return torch.smooth_l1_loss(both[0], both[1], _get_enum(reduction), beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0):
    both = torch.broadcast_tensors([input, target])
    return torch.huber_loss(both[0], both[1], _get_enum(reduction), delta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.binary_cross_entropy(input, target, weight, _get_enum(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
):
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _get_enum(reduction))


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
):
    if reduction == "batchmean":
        return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return torch.kl_div(input, target, _get_enum(reduction), log_target=log_target)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.soft_margin_loss(input, target, _get_enum(reduction))


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _get_enum(reduction))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.hinge_embedding_loss(input, target, margin, _get_enum(reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.margin_ranking_loss(input1, input2, target, margin, _get_enum(reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.cosine_embedding_loss(input1, input2, target, margin, _get_enum(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _get_enum(reduction))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.multilabel_margin_loss(input, target, _get_enum(reduction))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    return torch.multi_margin_loss(input, target, p, margin, weight, _get_enum(reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
):
    loss = -(target * torch.log_sigmoid(input) + (1 - target) * torch.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.size(-1)
    if reduction == "none":
        return loss
    return loss.mean() if _get_enum(reduction) == 1 else loss.sum()


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
):
    return torch.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _get_enum(reduction), zero_infinity
    )


def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0):
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    sizes = input.size()
    squares = (input * input).reshape([sizes[0], 1, sizes[1], sizes[2], -1])
    squares = torch.pad(squares, [0, 0, 0, 0, size // 2, (size - 1) // 2], "constant", 0.0)
    means = torch.avg_pool3d(squares, [size, 1, 1], [1, 1, 1]).reshape(sizes)
    return input / (means * alpha + k).pow(beta)


def pad(input: Tensor, pad: list[int], mode: str = "constant", value: float | None = None):
    return torch.pad(input, pad, mode, value)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1):
    gumbels = -torch.empty_like(logits).exponential_().log()
    soft = torch.softmax((logits + gumbels) / tau, dim)
    if hard:
        index = soft.max(dim, True)[1]
        return torch.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft
    return soft


def one_hot(input: Tensor, num_classes: int = -1):
    return torch.one_hot(input, num_classes)


def fold(
    input: Tensor,
    output_size: list[int],
    kernel_size: list[int],
    dilation: list[int] = (1, 1),
    padding: list[int] = (0, 0),
    stride: list[int] = (1, 1),
):
    return torch.col2im(input, output_size, kernel_size, dilation, padding, stride)


def unfold(
    input: Tensor,
    kernel_size: list[int],
    dilation: list[int] = (1, 1),
    padding: list[int] = (0, 0),
    stride: list[int] = (1, 1),
):
    return torch.im2col(input, kernel_size, dilation, padding, stride)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
):
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    return torch.grid_sampler(
        input, grid, modes[mode], paddings[padding_mode], False if align_corners is None else align_corners
    )
