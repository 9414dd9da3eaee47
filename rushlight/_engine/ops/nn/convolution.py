"""Convolutions of one to three dims: three bilinear rows that are each other's gradients.

_convolution(x, w)      x (N, C, *in),  w (O, C / groups, *k) -> (N, O, *out)
_convolution_input(g, w)   the gradient for x: also the transposed convolution
_convolution_weight(g, x)  the gradient for w
Each is one matrix product per group over windows laid out as columns, where the compiler has nothing better.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import bfloat16
from rushlight._engine.core.layout import (
    channels_last_strides,
    contiguous_strides,
    convolves_last,
    has_channels_last,
    laid_out,
)
from rushlight._engine.core.services import service
from rushlight._engine.ops.creation.copying import converted
from rushlight._engine.ops.linalg.addmm import biased
from rushlight._engine.ops.linalg.matmul import conjugate, product
from rushlight._engine.ops.nn.sliding_windows import (
    Ints,
    add_windows,
    for_dims,
    images,
    out_size,
    padded,
    padder,
    tuple_of,
    window_adder,
    windows,
)
from rushlight._engine.ops.resolved import ArrayFunction, looked_up, resolved
from rushlight._engine.ops.table import Array, composite, opaque


def _by_tiles(which: str, otherwise: ArrayFunction, a: Array, b: Array, *how: Any) -> ArrayFunction:
    """The compiler's forward, to_input or to_weight, or otherwise; in float32 of floats of two bytes."""
    paired: ArrayFunction | None = service("convolution of pairs")(which, a, b, *how)
    if paired:
        return paired
    wide = _wide(a), _wide(b)
    alone = service("convolution of each channel")(which, *wide, *how)
    run = alone or service("convolution")(which, *wide, *how) or otherwise
    order = channels_last_strides if convolves_last(a, b) else contiguous_strides

    def widened(a: Array, b: Array) -> Array:
        found = run(_wide(a), _wide(b))
        return converted(found, laid_out(found.shape, (order(found.shape),), a.dtype))

    return run if wide[0] is a else widened


def _wide(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype.itemsize <= 2 and a.dtype.kind not in "iub" else a


def _columns(
    x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, out: Ints
) -> Array:
    """(N, groups, C / groups * prod(k), prod(out)) of windows; no copy for 1x1 kernels."""
    n, c = x.shape[:2]
    if all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding):
        return x.reshape(n, groups, c // groups, prod(out))
    view = windows(padded(x, [(p, p) for p in padding]), kernel, stride, dilation, out)
    return view.reshape(n, groups, c // groups * prod(kernel), prod(out))


def _sizes(space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit into each dim."""
    return tuple(out_size(*of) for of in zip(space, kernel, stride, padding, dilation, strict=True))


def _forward(
    input: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> ArrayFunction:
    out = _sizes(input.shape[2:], weight.shape[2:], stride, padding, dilation)

    def by_columns(x: Array, w: Array) -> Array:
        columns = _columns(x, w.shape[2:], stride, padding, dilation, groups, out)
        return product(w.reshape(groups, w.shape[0] // groups, -1), columns).reshape(len(x), len(w), *out)

    return _by_tiles("forward", by_columns, input, weight, stride, padding, dilation, groups, out)


@opaque(name="_convolution", where=("aten",), node="convolution", planned_gradient=True)
@resolved
def _convolution(input, weight, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> ArrayFunction:
    """(N, C, *in) by (O, C / groups, *k)."""
    return _forward(input, weight, stride, padding, dilation, groups)


@_convolution.shape_rule
def _convolution_shape(
    input: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    out = _sizes(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    return _empty(input, weight, (input.shape[0], weight.shape[0], *out))


def _empty(a: Any, b: Any, shape: Ints) -> Any:
    """A tensor without values, in the layout of a convolution of the two."""
    last = convolves_last(a._geometry, b._geometry)
    return a.new_empty_strided(shape, (channels_last_strides if last else contiguous_strides)(shape))


def _as_result(grad: Any, a: Any, b: Any) -> Any:
    """The gradient of a convolution of a and b, in the layout of its result, as PyTorch lays it first.

    With one channel both layouts are the same memory, so what wrote the gradient may have said either.
    """
    if grad.ndim not in (4, 5):
        return grad
    last = convolves_last(a._geometry, b._geometry)
    if has_channels_last(grad.shape, grad.stride()) is last:
        return grad
    dense = grad.movedim(1, -1).contiguous().movedim(-1, 1) if last else grad.contiguous()
    return dense.as_strided(grad.shape, (channels_last_strides if last else contiguous_strides)(grad.shape))


@_convolution.gradient
def _convolution_gradient(s: Any, grad: Any) -> Any:
    grad = _as_result(grad, s.input, s.weight)
    how = s.stride, s.padding, s.dilation, s.groups
    space, kernel = s.shape("input")[2:], s.shape("weight")[2:]
    return (
        _convolution_input(grad, conjugate(s.weight), space, *how) if s.needs("input") else None,
        _convolution_weight(grad, conjugate(s.input), kernel, *how) if s.needs("weight") else None,
    )


@opaque(name="_convolution_input", where=("aten",), node="convolution")
@resolved
def _convolution_input(
    grad, weight, space: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> ArrayFunction:
    """(N, O, *out) by (O, C / groups, *k) back to (N, C, *space)."""
    n, _, *out = grad.shape
    outs, channels, *kernel = weight.shape

    def by_columns(g: Array, w: Array) -> Array:
        columns = product(
            w.reshape(groups, outs // groups, channels * prod(kernel)).swapaxes(1, 2),
            g.reshape(n, groups, outs // groups, prod(out)),
        )
        if {*kernel, *stride} == {1} and not any(padding) and list(space) == out:
            return columns.reshape(n, groups * channels, *space)
        columns = columns.reshape(n, groups * channels, *kernel, *out)
        return add_windows(columns, space, tuple(kernel), stride, padding, dilation)

    return _by_tiles("to_input", by_columns, grad, weight, space, stride, padding, dilation, groups)


@_convolution_input.shape_rule
def _convolution_input_shape(
    grad: Any, weight: Any, space: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    return _empty(grad, weight, (grad.shape[0], groups * weight.shape[1], *space))


@_convolution_input.gradient
def _convolution_input_gradient(s: Any, grad: Any) -> Any:
    grad = _as_result(grad, s.grad, s.weight)
    how = s.stride, s.padding, s.dilation, s.groups
    to_grad = None
    if s.needs("grad"):
        to_grad = _first_of(_convolution(grad, conjugate(s.weight), *how), s.shape("grad"))
    return to_grad, (
        _convolution_weight(conjugate(s.grad), grad, s.shape("weight")[2:], *how)
        if s.needs("weight")
        else None
    )


@opaque(name="_convolution_weight", where=("aten",), node="convolution")
@resolved
def _convolution_weight(
    grad, input, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> ArrayFunction:
    """The sum over samples and places of (N, O, *out) times the windows of (N, C, *in)."""
    n, outs = grad.shape[:2]

    def by_columns(x: Array, g: Array) -> Array:
        columns = _columns(x, kernel, stride, padding, dilation, groups, g.shape[2:])
        gg = g.reshape(n, groups, outs // groups, prod(g.shape[2:]))
        if n > 1 and gg.shape[3] * (gg.shape[2] + columns.shape[2]) < gg.shape[2] * columns.shape[2]:
            # Few places: less to move than a gradient for each sample, to be added up.
            flat_g, flat_x = (
                t.transpose(1, 2, 0, 3).reshape(groups, t.shape[2], n * t.shape[3]) for t in (gg, columns)
            )
            found = product(flat_g, flat_x.swapaxes(1, 2))
            return found.reshape(outs, x.shape[1] // groups, *kernel)
        found = (
            product(gg[:1], columns[:1].swapaxes(2, 3))[0]
            if n
            else np.zeros((groups, outs // groups, columns.shape[2]), g.dtype)
        )
        # A few samples at a time: all at once would hold N gradients of the weight.
        step = max(1, 4_000_000 // max(found.size, 1))
        for start in range(1, n, step):
            found += product(gg[start : start + step], columns[start : start + step].swapaxes(2, 3)).sum(0)
        return found.reshape(outs, x.shape[1] // groups, *kernel)

    run = _by_tiles("to_weight", by_columns, input, grad, kernel, stride, padding, dilation, groups)
    return lambda g, x: run(x, g)


@_convolution_weight.shape_rule
def _convolution_weight_shape(
    grad: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    return _empty(input, grad, (grad.shape[1], input.shape[1] // groups, *kernel))


def _first_of(to_grad: Any, shape: Ints) -> Any:
    """The first places: output_padding beyond the stride leaves room for windows that were never there."""
    for dim, size in enumerate(shape[2:], 2):
        to_grad = to_grad.narrow(dim, 0, size) if to_grad.shape[dim] != size else to_grad
    return to_grad


def convolution_gradients(
    grad: Any,
    input: Any,
    weight: Any,
    how: tuple[Any, ...],
    extra: Ints | None,
    wanted: Sequence[bool],
) -> tuple[Any, Any]:
    """The gradients for the input and the weight of a convolution, or of a transposed one, as its row gives
    them, which keeps what they read; None where one is not wanted. That operand's values are not read.

    how: stride, padding, dilation, groups. extra: the output_padding of a transposed one, else None.
    """
    _check_gradient(grad, input, weight, how, extra)
    grad, kernel = _as_result(grad, input, weight), weight.shape[2:]
    if extra is not None:
        return (
            _first_of(_convolution(grad, conjugate(weight), *how), input.shape) if wanted[0] else None,
            _convolution_weight(conjugate(input), grad, kernel, *how) if wanted[1] else None,
        )
    return (
        _convolution_input(grad, conjugate(weight), input.shape[2:], *how) if wanted[0] else None,
        _convolution_weight(grad, conjugate(input), kernel, *how) if wanted[1] else None,
    )


def _check_gradient(grad: Any, input: Any, weight: Any, how: tuple[Any, ...], extra: Ints | None) -> None:
    """RuntimeError for operands of no convolution, or where grad is not of its result's sizes."""
    (*places, groups), transposed, n = how, extra is not None, weight.ndim - 2
    _check(f"conv{'_transpose' * transposed}{n}d", n, input, weight, None, groups, transposed)
    _positive(*places)
    outs = weight.shape[1] * groups if transposed else weight.shape[0]
    sizes = _sizes if extra is None else partial(_transposed_sizes, extra)
    shape = (*input.shape[:1], outs, *sizes(input.shape[2:], weight.shape[2:], *places))
    if tuple(grad.shape) != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and "
            f"output[0] has a shape of {type(grad.shape)(shape)}."
        )


def _transposed_sizes(
    extra: Ints, space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Ints:
    """The sizes of which so many windows are, and `extra` places more."""
    return tuple(
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, s, p, d, k, e in zip(space, stride, padding, dilation, kernel, extra, strict=True)
    )


@_convolution_weight.gradient
def _convolution_weight_gradient(s: Any, grad: Any) -> Any:
    how = s.stride, s.padding, s.dilation, s.groups
    space = s.shape("input")[2:]
    return (
        _convolution(conjugate(s.input), grad, *how) if s.needs("grad") else None,
        _convolution_input(conjugate(s.grad), grad, space, *how) if s.needs("input") else None,
    )


# --- with a bias: one node of the graph, as in PyTorch ---------------------------------------------


def _with_bias(found: Any, bias: Any) -> Any:
    return found + bias.reshape(-1, *[1] * (found.ndim - 2))


@composite(
    name="_biased_convolution",
    where=("aten",),
    node="convolution",
    planned=True,
    in_parts=True,
    planned_gradient=True,
)
def _biased_convolution(input, weight, bias, stride: Ints, padding: Ints, dilation: Ints, groups: int):
    """_convolution and a bias (O,)."""
    return _with_bias(_convolution(input, weight, stride, padding, dilation, groups), bias)


@_biased_convolution.kernel
@resolved
def _biased_convolution_kernel(
    input: Array, weight: Array, bias: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> ArrayFunction:
    convolve = _forward(input, weight, stride, padding, dilation, groups)
    shape = -1, *[1] * (input.ndim - 2)
    floats = input.dtype.kind == "f" or input.dtype == bfloat16.np
    kernel: Any = biased(input.dtype, bias.dtype, input.dtype) if floats else None
    few = 1 << 14 if input.itemsize > 2 else 1 << 9  # elements to which NumPy adds sooner, with the same bits

    def run(x: Array, w: Array, bias: Array) -> Array:
        found: Array = convolve(x, w)
        more = bias.reshape(shape)
        if kernel is None or found.size < few:
            found += more
        else:
            kernel.large(found, more, out=found)
        return found

    return run


@_biased_convolution.gradient
def _biased_convolution_gradient(s: Any, grad: Any) -> Any:
    grad = _as_result(grad, s.input, s.weight)
    how = s.stride, s.padding, s.dilation, s.groups
    space, kernel = s.shape("input")[2:], s.shape("weight")[2:]
    return (
        _convolution_input(grad, conjugate(s.weight), space, *how) if s.needs("input") else None,
        _convolution_weight(grad, conjugate(s.input), kernel, *how) if s.needs("weight") else None,
        grad.sum_to_size(1, grad.shape[1], *[1] * len(space)).flatten() if s.needs("bias") else None,
    )


# --- the public functions -------------------------------------------------------------------------


def _unlike(input: Any, other: Any, name: str) -> str:
    """PyTorch's words for a weight or a bias of another dtype than the input's."""
    ours, theirs = input.legacy, other.legacy
    if name == "bias":
        return f"Input type ({ours.lower()}) and bias type ({theirs.lower()}) should be the same"
    if not input.is_complex and input.name != "bfloat16":
        return f"expected scalar type {ours} but found {theirs}"
    message = f"Input type (CPU{ours}Type) and weight type (torch.{theirs}Tensor) should be the same"
    dense = " or input should be a MKLDNN tensor and weight is a dense tensor"
    return message if input.is_complex else message + dense


def _check(op: str, n: int, x: Any, w: Any, bias: Any, groups: int, transposed: bool = False) -> None:
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {op}, but got "
            f"input of size: {list(x.shape)}"
        )
    if w.ndim != n + 2:
        raise RuntimeError(
            f"expected weight to be at least {n + 2}-dimensional: {op} takes a weight of "
            f"{n + 2} dims, got {list(w.shape)}"
        )
    for name, t in (("weight", w), ("bias", bias)):
        if t is not None and x.dtype is not t.dtype:
            raise RuntimeError(_unlike(x.dtype, t.dtype, name))
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if w.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight "
            f"of size {list(w.shape)} instead"
        )
    channels = x.shape[x.ndim - n - 1]
    wanted = w.shape[0] if transposed else w.shape[1] * groups
    if w.shape[0] % groups and (not transposed or wanted == channels):
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0, but got weight of size {list(w.shape)} instead"
        )
    if wanted != channels:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {list(w.shape)}, expected input{list(x.shape)} to "
            f"have {wanted} channels, but got {channels} channels instead"
        )
    outs = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and tuple(bias.shape) != (outs,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional "
            f"with {outs} elements, but got bias of size {list(bias.shape)} instead"
        )


def _positive(stride: Ints, padding: Ints, dilation: Ints) -> None:
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _convolve(
    op: str, n: int, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    stride, dilation = (tuple_of(v, n, name, op) for v, name in ((stride, "stride"), (dilation, "dilation")))
    _check(op, n, x, w, bias, groups)
    unbatched = x.ndim == n + 1
    x = x.unsqueeze(0) if unbatched else x
    if isinstance(padding, str):
        x, padding = _named_padding(x, w, stride, padding, dilation)
    padding = tuple_of(padding, n, "padding", op)
    _positive(stride, padding, dilation)
    for size, k, p, d in zip(x.shape[2:], w.shape[2:], padding, dilation, strict=True):
        if size + 2 * p < d * (k - 1) + 1:
            have = " x ".join(str(v + 2 * q) for v, q in zip(x.shape[2:], padding, strict=True))
            want = " x ".join(str(e * (v - 1) + 1) for v, e in zip(w.shape[2:], dilation, strict=True))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({have}). Kernel size: "
                f"({want}). Kernel size can't be greater than actual input size"
            )
    if max(dilation) > 1 and x.dtype.category == 1 and x.dtype.itemsize < 8:
        raise NotImplementedError(f"\"slow_conv_dilated<>\" not implemented for '{x.dtype.legacy}'")
    how = stride, padding, dilation, groups
    found = _convolution(x, w, *how) if bias is None else _biased_convolution(x, w, bias, *how)
    return found.squeeze(0) if unbatched else found


def _named_padding(x: Any, w: Any, stride: Ints, padding: str, dilation: Ints) -> tuple[Any, Any]:
    if padding == "valid":
        return x, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'; use 'valid', 'same' or numbers")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
    if all(t % 2 == 0 for t in totals):
        return x, tuple(t // 2 for t in totals)
    # a family loads when a name of it is asked for
    from rushlight._engine.ops.shapes.padding import _pad_constant

    pads: list[int] = []
    for t in reversed(totals):
        pads += [t // 2, t - t // 2]
    return _pad_constant(x, tuple(pads), 0.0), 0


@for_dims
def _plain(n: int) -> None:
    def body(
        input,
        weight,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ):
        return _convolve(f"conv{n}d", n, input, weight, bias, stride, padding, dilation, groups)

    composite(
        body,
        name=f"conv{n}d",
        where=("torch", "nn.functional"),
        doc=f"The {n}-d convolution of {images(n)} by weight (O, C / groups, *k): (N, O, *out).\n\n"
        'bias: (O,) or None. padding: zeros at both ends, or "same" (strides of 1), "valid". A size\n'
        "becomes (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1. RuntimeError for two dtypes.",
    )


@composite(where=("torch", "nn.functional"))
def conv_tbc(input, weight, bias, pad: int = 0):
    """The convolution of (time, N, C) by (k, C, O), a bias (O,), `pad` zeros at both ends -> (out, N, O)."""
    for wrong, what in (
        (input.ndim != 3, "Input must have 3 dims: time, batch, in_channel"),
        (weight.ndim != 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels"),
        (bias.ndim != 1, "Bias must be 1-D"),
        (
            input.shape[-1] != weight.shape[-2:][0],
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor",
        ),
        (bias.shape != weight.shape[-1:], "Bias size must equal dim 2 in the weight tensor"),
    ):
        if wrong:
            raise RuntimeError(f"{what}; got {[list(t.shape) for t in (input, weight, bias)]}")
    found = _convolve("conv_tbc", 1, input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad, 1, 1)
    return found.permute(2, 0, 1).contiguous()


@for_dims
def _transposed(n: int) -> None:
    op = f"conv_transpose{n}d"

    def body(
        input,
        weight,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ):
        stride, padding, extra, dilation = (
            tuple_of(v, n, name, op)
            for v, name in (
                (stride, "stride"),
                (padding, "padding"),
                (output_padding, "output_padding"),
                (dilation, "dilation"),
            )
        )
        _check(op, n, input, weight, bias, groups, transposed=True)
        _positive(stride, padding, dilation)
        for e, s, d in zip(extra, stride, dilation, strict=True):
            if e >= s and e >= d:
                raise RuntimeError(
                    "output padding must be smaller than either stride or dilation, but got output_padding: "
                    f"{list(extra)} stride: {list(stride)} dilation: {list(dilation)}"
                )
        unbatched = input.ndim == n + 1
        x = input.unsqueeze(0) if unbatched else input
        space = _transposed_sizes(extra, x.shape[2:], weight.shape[2:], stride, padding, dilation)
        if any(size <= 0 for size in space):
            raise RuntimeError(
                f"Given input size per channel: {list(x.shape[2:])}. Calculated output size "
                f"per channel: {list(space)}. Output size is too small"
            )
        found = _convolution_input(x, weight, space, stride, padding, dilation, groups)
        found = found if bias is None else _with_bias(found, bias)
        return found.squeeze(0) if unbatched else found

    composite(
        body,
        name=op,
        where=("torch", "nn.functional"),
        doc=f"The transposed convolution of {images(n)} by weight (C, O / groups, *k): (N, O, *out).\n\n"
        "The gradient of a convolution by its input. A size becomes\n"
        "(size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.",
    )


@composite(name="unfold_columns", where=("nn.functional.unfold",), planned=True)
def unfold(input, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
    """Windows of (N, C, H, W) as columns: (N, C * kh * kw, L)."""
    how = [
        tuple_of(v, 2, name, "unfold")
        for v, name in (
            (kernel_size, "kernel_size"),
            (dilation, "dilation"),
            (padding, "padding"),
            (stride, "stride"),
        )
    ]
    unbatched = input.ndim == 3
    if input.ndim not in (3, 4) or 0 in input.shape[1 - unbatched :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    if any(min(how[i]) < 1 for i in (0, 1, 3)):
        raise RuntimeError(
            "unfold: kernel size, dilation and stride should be greater than zero, but got "
            f"{how[0]}, {how[1]} and {how[3]}"
        )
    found = _unfold(input.unsqueeze(0) if unbatched else input, *how)
    return found.squeeze(0) if unbatched else found


@opaque(name="im2col", where=("aten",))
@resolved
def _unfold(input, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> ArrayFunction:
    """Windows as columns."""
    out = _sizes(input.shape[2:], kernel, stride, padding, dilation)
    if any(o <= 0 for o in out):
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[2:])}, kernel_size={tuple(kernel)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape of the array of sliding "
            f"blocks as {out}, but its components must be at least one."
        )
    wide = padder(input.shape, [(p, p) for p in padding])
    sizes = *input.shape[:2], *[n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]

    def moved(x: Array) -> Array:
        return np.array(_columns(x, kernel, stride, (0, 0), dilation, 1, out)[:, 0])

    move = looked_up(moved, np.broadcast_to(0, sizes))
    return lambda x: move(wide(x))


@_unfold.gradient
def _unfold_gradient(s: Any, grad: Any) -> Any:
    return _fold(grad, s.shape("input")[2:], s.kernel, s.dilation, s.padding, s.stride)


@composite(name="fold_columns", where=("nn.functional.fold",), planned=True)
def fold(input, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
    """Columns added up where their windows lie: the transpose of unfold."""
    how = [
        tuple_of(v, 2, name, "fold")
        for v, name in (
            (output_size, "output_size"),
            (kernel_size, "kernel_size"),
            (dilation, "dilation"),
            (padding, "padding"),
            (stride, "stride"),
        )
    ]
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
            f"and non-zero dimensions for input, but got: {list(input.shape)}"
        )
    unbatched = input.ndim == 2
    found = _fold(input.unsqueeze(0) if unbatched else input, *how)
    return found.squeeze(0) if unbatched else found


@opaque(name="col2im", where=("aten",))
@resolved
def _fold(input, space: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> ArrayFunction:
    """Columns added up where their windows lie."""
    n, rows, places = input.shape
    per = prod(kernel)
    if per >= 2**63:
        raise RuntimeError(
            f"Given kernel_width = {kernel[1]} and kernel_height = {kernel[0]} the product of kernel_width "
            "and kernel_height overflowed."
        )
    out = _sizes(space, kernel, stride, padding, dilation)
    if rows % per:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={rows} and kernel_size={tuple(kernel)}."
        )
    if any(o <= 0 for o in out):
        raise RuntimeError(
            f"Given output_size={tuple(space)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, calculated shape of the array of sliding "
            f"blocks as {tuple(out)}, but its components must be at least one."
        )
    if places != int(np.prod(out)):
        raise RuntimeError(
            f"Given output_size={tuple(space)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to "
            f"match the calculated number of sliding blocks {' * '.join(map(str, out))} = "
            f"{int(np.prod(out))}, but got input.size(2)={places}."
        )
    shape, of = (n, rows // per, *kernel, *out), input.dtype
    add = window_adder(shape, space, kernel, stride, padding, dilation)
    return lambda input: add(_wide(input).reshape(shape)).astype(of, copy=False)


_fold.gradient(lambda s, grad: _unfold(grad, s.kernel, s.dilation, s.padding, s.stride))
