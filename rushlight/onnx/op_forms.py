"""What each op is in ONNX's ops.

A form is a function of the op's arguments, by the names that PyTorch's signature gives them (`self` is the
tensor itself), and of `form`: `form.onnx.MatMul(x, y)` is a node of the graph, and its methods are what
several forms share (forms.py). A form gives the op's result, or a list of results.
"""

from __future__ import annotations

import math
from typing import Any

from rushlight.onnx import (
    moment_forms as moment_forms,  # its forms
    random_forms as random_forms,  # its forms
    resizing_forms as resizing_forms,  # its forms
    window_forms as window_forms,  # its forms
)
from rushlight.onnx.builder import Ref
from rushlight.onnx.forms import FORMS, Forms, form_of, written

__all__ = ["FORMS", "written"]

# ONNX's way to say "to the end".
LAST = 9223372036854775807


# --- products, convolutions, normalisation ----------------------------------------------------------


@form_of("linear")
def linear(form: Forms, input: Ref, weight: Ref, bias: Ref | None) -> Ref:
    return form.gemm(input, weight, bias)


@form_of("matmul")
def matmul(form: Forms, self: Ref, other: Ref) -> Ref:
    return form.onnx.MatMul(self, other)


@form_of("mm", "bmm")
def mm(form: Forms, self: Ref, mat2: Ref) -> Ref:
    return form.onnx.MatMul(self, mat2)


@form_of("mv")
def mv(form: Forms, self: Ref, vec: Ref) -> Ref:
    return form.onnx.MatMul(self, vec)


@form_of("dot")
def dot(form: Forms, self: Ref, tensor: Ref) -> Ref:
    return form.onnx.MatMul(self, tensor)


@form_of("addmm")
def addmm(form: Forms, self: Ref, mat1: Ref, mat2: Ref, alpha: Any, beta: Any) -> Ref:
    return form.onnx.Gemm(mat1, mat2, self, alpha=float(alpha), beta=float(beta))


@form_of("conv1d", "conv2d", "conv3d")
def conv(
    form: Forms,
    input: Ref,
    weight: Ref,
    bias: Ref | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Ref:
    return form.conv(input, weight, bias, stride, padding, dilation, groups)


@form_of("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    form: Forms,
    input: Ref,
    weight: Ref,
    bias: Ref | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Ref:
    return form.onnx.ConvTranspose(
        input,
        weight,
        bias,
        strides=stride,
        pads=padding * 2,
        output_padding=output_padding,
        group=groups,
        dilations=dilation,
    )


@form_of("batch_norm")
def batch_norm(
    form: Forms,
    input: Ref,
    weight: Ref | None,
    bias: Ref | None,
    running_mean: Ref | None,
    running_var: Ref | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Ref:
    return form.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@form_of("layer_norm")
def layer_norm(
    form: Forms, input: Ref, weight: Ref | None, normalized_shape: Any, bias: Ref | None, eps: float
) -> Ref:
    return form.onnx.LayerNormalization(
        input, form.ones_or(weight, normalized_shape), bias, axis=-len(normalized_shape), epsilon=eps
    )


@form_of("instance_norm")
def instance_norm(form: Forms, input: Ref, weight: Ref | None, bias: Ref | None, eps: float) -> Ref:
    return form.onnx.InstanceNormalization(
        input,
        form.ones_or(weight, form.channels(input)),
        form.zeros_or(bias, form.channels(input)),
        epsilon=eps,
    )


@form_of("group_norm")
def group_norm(
    form: Forms, input: Ref, num_groups: Any, weight: Ref | None, bias: Ref | None, eps: float
) -> Ref:
    return form.group_norm(input, num_groups, weight, bias, eps)


@form_of("rms_norm")
def rms_norm(form: Forms, input: Ref, normalized_shape: Any, weight: Ref | None, eps: float | None) -> Ref:
    return form.rms_norm(input, normalized_shape, weight, eps)


@form_of("softmax")
def softmax(form: Forms, self: Ref, dim: int) -> Ref:
    return form.as_out(form.onnx.Softmax(self, axis=dim))


@form_of("log_softmax")
def log_softmax(form: Forms, self: Ref, dim: int) -> Ref:
    return form.as_out(form.onnx.LogSoftmax(self, axis=dim))


# --- activations and dropout ------------------------------------------------------------------------


@form_of("prelu")
def prelu(form: Forms, self: Ref, weight: Ref) -> Ref:
    return form.onnx.PRelu(self, form.channelwise(weight, self))


@form_of("dropout", "dropout_")
def dropout(form: Forms, input: Ref, train: bool, p: float) -> Ref:
    return (
        form.onnx.Dropout(input, form.as_float(p), form.as_true())
        if train and p
        else form.onnx.Identity(input)
    )


@form_of("feature_dropout", "alpha_dropout")
def feature_dropout(form: Forms, input: Ref) -> Ref:
    return form.onnx.Identity(input)


# --- windows ----------------------------------------------------------------------------------------


@form_of("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    form: Forms, self: Ref, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Ref:
    return form.onnx.MaxPool(
        self,
        kernel_shape=kernel_size,
        strides=stride or kernel_size,
        pads=padding * 2,
        dilations=dilation,
        ceil_mode=int(ceil_mode),
    )


@form_of("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    form: Forms,
    self: Ref,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Ref:
    if divisor_override and ceil_mode:
        form.refuse()  # windows that end outside have a divisor of their own there
    found = form.onnx.AveragePool(
        self,
        kernel_shape=kernel_size,
        strides=stride or kernel_size,
        pads=padding * 2,
        ceil_mode=int(ceil_mode),
        count_include_pad=int(count_include_pad or bool(divisor_override)),
    )
    return form.onnx.Mul(found, math.prod(kernel_size) / divisor_override) if divisor_override else found


@form_of("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(form: Forms, self: Ref, output_size: Any) -> Ref:
    return form.adaptive("Average", self, output_size)


@form_of("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(form: Forms, self: Ref, output_size: Any) -> Ref:
    return form.adaptive("Max", self, output_size)


# --- shapes -----------------------------------------------------------------------------------------


@form_of(
    "view", "reshape", "flatten", "unflatten", "squeeze", "view_as", "reshape_as", "_unsafe_view", "ravel"
)
def view(form: Forms, self: Ref) -> Ref:
    return form.onnx.Reshape(self, form.out_shape())


@form_of("unsqueeze")
def unsqueeze(form: Forms, self: Ref, dim: int) -> Ref:
    return form.onnx.Unsqueeze(self, [dim])


@form_of("expand", "expand_as", "broadcast_to")
def expand(form: Forms, self: Ref) -> Ref:
    return form.onnx.Expand(self, form.out_shape())


@form_of("repeat")
def repeat(form: Forms, self: Ref, repeats: Any) -> Ref:
    return (
        form.onnx.Expand(self, form.out_shape())
        if len(self.shape) == 0
        else form.onnx.Tile(form.padded(self, repeats), repeats)
    )


@form_of("tile")
def tile(form: Forms, self: Ref, dims: Any) -> Ref:
    return form.onnx.Tile(form.padded(self, dims), dims)


@form_of("transpose", "swapdims")
def transpose(form: Forms, self: Ref, dim0: int, dim1: int) -> Ref:
    return form.onnx.Transpose(self, perm=form.swapped(self, dim0, dim1))


@form_of("swapaxes")
def swapaxes(form: Forms, self: Ref, axis0: int, axis1: int) -> Ref:
    return form.onnx.Transpose(self, perm=form.swapped(self, axis0, axis1))


@form_of("permute")
def permute(form: Forms, self: Ref, dims: Any) -> Ref:
    return form.onnx.Transpose(self, perm=[d % len(self.shape) for d in dims])


@form_of("t")
def t(form: Forms, self: Ref) -> Ref:
    return form.onnx.Transpose(self) if len(self.shape) == 2 else form.onnx.Identity(self)


@form_of("numpy_T")
def numpy_T(form: Forms, self: Ref) -> Ref:
    return form.onnx.Transpose(self)


# --- reading and writing at positions ---------------------------------------------------------------


@form_of("select")
def select(form: Forms, self: Ref, index: Any, dim: int) -> Ref:
    return form.onnx.Gather(self, form.scalar(index), axis=dim)


@form_of("slice")
def slice_(form: Forms, self: Ref, start: Any, end: Any, dim: int, step: Any) -> Ref:
    return form.onnx.Slice(self, [start or 0], [LAST if end is None else end], [dim], [step])


@form_of("narrow")
def narrow(form: Forms, self: Ref, start: Any, length: Any, dim: int) -> Ref:
    end = form.sum_of(start, length)
    to_the_end = isinstance(start, int) and start < 0 and end == [0]
    return form.onnx.Slice(self, [start], [LAST] if to_the_end else end, [dim])


@form_of("cat", "concat")
def cat(form: Forms, tensors: list[Ref], dim: int) -> Ref:
    return form.onnx.Concat(*form.same(tensors), axis=dim)


@form_of("stack")
def stack(form: Forms, dim: int, tensors: list[Ref]) -> Ref:
    return form.onnx.Concat(*[form.onnx.Unsqueeze(t, [dim]) for t in form.same(tensors)], axis=dim)


@form_of("split", "split_with_sizes", "chunk", "tensor_split")
def split(form: Forms, self: Ref, dim: int) -> Any:
    return form.pieces(self, dim)


@form_of("unbind")
def unbind(form: Forms, self: Ref, dim: int) -> Any:
    return [form.onnx.Squeeze(part, [dim]) for part in form.pieces(self, dim)]


@form_of("embedding")
def embedding(form: Forms, weight: Ref, indices: Ref) -> Ref:
    return form.onnx.Gather(weight, indices, axis=0)


@form_of("index_select")
def index_select(form: Forms, self: Ref, index: Ref, dim: int) -> Ref:
    return form.onnx.Gather(self, index, axis=dim)


@form_of("gather")
def gather(form: Forms, self: Ref, index: Ref, dim: int) -> Ref:
    return form.onnx.GatherElements(self, index, axis=dim)


@form_of("scatter")
def scatter(form: Forms, self: Ref, index: Ref, src: Any, value: Any, dim: int, reduce: Any) -> Ref:
    how = {None: "none", "add": "add", "multiply": "mul"}[reduce]
    return form.onnx.ScatterElements(self, index, form.src_or(src, value, index), axis=dim, reduction=how)


@form_of("index")
def index(form: Forms, self: Ref, indices: list[Ref | None]) -> Ref:
    return form.index(self, indices)


@form_of("take_along_dim")
def take_along_dim(form: Forms, self: Ref, indices: Ref, dim: int) -> Ref:
    return form.onnx.GatherElements(self, indices, axis=dim)


@form_of("masked_fill")
def masked_fill(form: Forms, self: Ref, mask: Ref, value: Any) -> Ref:
    return form.onnx.Where(mask, form.cast_as(value, self), self)


@form_of("where")
def where(form: Forms, self: Ref, condition: Ref, other: Ref) -> Ref:
    return form.onnx.Where(form.as_bool(condition), form.as_out(self), form.as_out(other))


@form_of("tril")
def tril(form: Forms, self: Ref, diagonal: int) -> Ref:
    return form.onnx.Trilu(self, form.scalar(diagonal), upper=0)


@form_of("triu")
def triu(form: Forms, self: Ref, diagonal: int) -> Ref:
    return form.onnx.Trilu(self, form.scalar(diagonal), upper=1)


# --- reductions -------------------------------------------------------------------------------------


@form_of("sum")
def total(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceSum(form.as_out(self), form.axes(dim), keepdims=int(keepdim))


@form_of("mean")
def mean(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceMean(form.as_out(self), form.axes(dim), keepdims=int(keepdim))


@form_of("prod")
def prod(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceProd(form.as_out(self), form.axes(dim), keepdims=int(keepdim))


@form_of("amax")
def amax(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceMax(self, form.axes(dim), keepdims=int(keepdim))


@form_of("amin")
def amin(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceMin(self, form.axes(dim), keepdims=int(keepdim))


@form_of("max")
def maximum(form: Forms, self: Ref, dim: Any, keepdim: bool, other: Ref) -> Any:
    return form.extreme("Max", self, dim, keepdim, other)


@form_of("min")
def minimum(form: Forms, self: Ref, dim: Any, keepdim: bool, other: Ref) -> Any:
    return form.extreme("Min", self, dim, keepdim, other)


@form_of("argmax")
def argmax(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.arg("ArgMax", self, dim, keepdim)


@form_of("argmin")
def argmin(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.arg("ArgMin", self, dim, keepdim)


@form_of("any")
def any_(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.as_bool(
        form.onnx.ReduceMax(form.as_int(form.as_bool(self)), form.axes(dim), keepdims=int(keepdim))
    )


@form_of("all")
def all_(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.as_bool(
        form.onnx.ReduceMin(form.as_int(form.as_bool(self)), form.axes(dim), keepdims=int(keepdim))
    )


@form_of("logsumexp")
def logsumexp(form: Forms, self: Ref, dim: Any, keepdim: bool) -> Ref:
    return form.onnx.ReduceLogSumExp(self, form.axes(dim), keepdims=int(keepdim))


@form_of("norm", "linalg_vector_norm")
def norm(form: Forms, self: Ref, p: Any, ord: Any, dim: Any, keepdim: bool) -> Ref:
    return form.norm(self, p, ord, dim, keepdim)


@form_of("cumsum")
def cumsum(form: Forms, self: Ref, dim: int) -> Ref:
    return form.onnx.CumSum(form.as_out(self), form.scalar(dim))


# --- ordering ---------------------------------------------------------------------------------------


@form_of("topk")
def topk(form: Forms, self: Ref, k: Any, dim: Any, largest: bool) -> Any:
    return form.topk(self, k, dim, largest)


@form_of("sort")
def sort(form: Forms, self: Ref, dim: Any, descending: bool) -> Any:
    return form.topk(self, self.shape[dim], dim, descending)


@form_of("argsort")
def argsort(form: Forms, self: Ref, dim: Any, descending: bool) -> Any:
    return form.topk(self, self.shape[dim], dim, descending)[1]


@form_of("einsum")
def einsum(form: Forms, tensors: list[Ref], equation: Any) -> Ref:
    return form.onnx.Einsum(*tensors, equation=equation.replace(" ", ""))


@form_of("one_hot")
def one_hot(form: Forms, self: Ref, num_classes: int) -> Ref:
    return form.onnx.OneHot(self, form.scalar(num_classes), form.as_ints([0, 1]))


@form_of("pixel_shuffle")
def pixel_shuffle(form: Forms, self: Ref, upscale_factor: int) -> Ref:
    return form.onnx.DepthToSpace(self, blocksize=upscale_factor, mode="CRD")


@form_of("pixel_unshuffle")
def pixel_unshuffle(form: Forms, self: Ref, downscale_factor: int) -> Ref:
    return form.onnx.SpaceToDepth(self, blocksize=downscale_factor)


@form_of("pad")
def pad(form: Forms, self: Ref, pad: Any, mode: Any, value: Any) -> Ref:
    return form.padded_by(self, pad, mode, value)


# --- made, copied, converted ------------------------------------------------------------------------


@form_of("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty")
def zeros(form: Forms) -> Ref:
    return form.filled(0)


@form_of("ones", "ones_like", "new_ones")
def ones(form: Forms) -> Ref:
    return form.filled(1)


@form_of("full", "full_like", "new_full")
def full(form: Forms, fill_value: Any) -> Ref:
    return form.filled(fill_value)


@form_of("arange")
def arange(form: Forms, start: Any, end: Any, step: Any) -> Ref:
    return form.ranged(start, end, step)


@form_of("clone", "contiguous", "detach", "detach_", "alias", "lift_fresh_copy")
def clone(form: Forms, self: Ref) -> Ref:
    return form.onnx.Identity(self)


@form_of("to", "type_as", "_to_copy")
def to(form: Forms, self: Ref) -> Ref:
    return form.as_out(self)


# --- attention, recurrence, resampling --------------------------------------------------------------


@form_of("scaled_dot_product_attention")
def scaled_dot_product_attention(
    form: Forms,
    query: Ref,
    key: Ref,
    value: Ref,
    attn_mask: Ref | None,
    is_causal: bool,
    scale: Any,
    enable_gqa: bool,
) -> Ref:
    return form.attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)


@form_of("lstm")
def lstm(
    form: Forms,
    input: Ref,
    hx: Any,
    params: list[Ref],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    return form.recurrent("LSTM", input, hx, params, has_biases, num_layers, bidirectional, batch_first)


@form_of("gru")
def gru(
    form: Forms,
    input: Ref,
    hx: Any,
    params: list[Ref],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    return form.recurrent("GRU", input, hx, params, has_biases, num_layers, bidirectional, batch_first)


@form_of("rnn_tanh")
def rnn_tanh(
    form: Forms,
    input: Ref,
    hx: Any,
    params: list[Ref],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    return form.recurrent("RNN", input, hx, params, has_biases, num_layers, bidirectional, batch_first)


@form_of("rnn_relu")
def rnn_relu(
    form: Forms,
    input: Ref,
    hx: Any,
    params: list[Ref],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    return form.recurrent(
        "RNN", input, hx, params, has_biases, num_layers, bidirectional, batch_first, ["Relu"]
    )


# --- others -----------------------------------------------------------------------------------------


@form_of("fill_", "copy_")
def fill(form: Forms, self: Ref, src: Any, value: Any) -> Ref:
    return form.onnx.Expand(form.cast_as(value if src is None else src, self), form.out_shape())


@form_of("relu", "relu_")
def relu(form: Forms, self: Ref) -> Ref:
    return form.onnx.Relu(self)


@form_of("sigmoid", "sigmoid_")
def sigmoid(form: Forms, self: Ref) -> Ref:
    return form.onnx.Sigmoid(self)


@form_of("tanh", "tanh_")
def tanh(form: Forms, self: Ref) -> Ref:
    return form.onnx.Tanh(self)


@form_of("leaky_relu", "leaky_relu_")
def leaky_relu(form: Forms, self: Ref, negative_slope: float) -> Ref:
    return form.onnx.LeakyRelu(self, alpha=negative_slope)


@form_of("elu", "elu_")
def elu(form: Forms, self: Ref, scale: Any, input_scale: Any, alpha: Any) -> Ref:
    return form.onnx.Elu(self, alpha=float(alpha)) if scale == 1 and input_scale == 1 else form.refuse()


@form_of("rsub")
def rsub(form: Forms, self: Ref, alpha: Any, other: Ref) -> Ref:
    return form.onnx.Sub(form.as_out(other), form.as_out(self)) if alpha == 1 else form.refuse()


@form_of("flip")
def flip(form: Forms, self: Ref, dims: Any) -> Ref:
    return form.onnx.Slice(self, [-1] * len(dims), [-LAST] * len(dims), dims, [-1] * len(dims))


@form_of("roll")
def roll(form: Forms, self: Ref, shifts: Any, dims: Any) -> Ref:
    return form.rolled(self, shifts, dims)


@form_of("cross_entropy_loss")
def cross_entropy_loss(
    form: Forms,
    self: Ref,
    label_smoothing: float,
    target: Ref,
    weight: Ref | None,
    reduction: int,
    ignore_index: int,
) -> Ref:
    return (
        form.loss("SoftmaxCrossEntropyLoss", self, target, weight, reduction, ignore_index)
        if not label_smoothing
        else form.refuse()
    )


@form_of("nll_loss", "nll_loss_nd")
def nll_loss(
    form: Forms, self: Ref, target: Ref, weight: Ref | None, reduction: int, ignore_index: int
) -> Ref:
    return form.loss("NegativeLogLikelihoodLoss", self, target, weight, reduction, ignore_index)
