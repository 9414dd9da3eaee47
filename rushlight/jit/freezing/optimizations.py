"""What can be merged once weights are constants: normalization and arithmetic into layers, dropout away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.folding import constant_before, constant_of, is_constant, node_before, reread
from rushlight.jit.program.ir import Block, Node, Value, replace, walk
from rushlight.jit.program.memory import remove, sweep
from rushlight.jit.program.types import INT, TENSOR
from rushlight.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

_CONVOLUTIONS = ("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::_convolution")
# What reads of a tensor only what does not change when an op is merged into the layer that gave it.
_SHAPES = frozenset(("aten::dim", "aten::size", "aten::numel", "prim::dtype", "prim::device", "aten::len"))
# What tells a tensor from another one with the same values.
_SAME = frozenset(("aten::__is__", "aten::__isnot__", "prim::Return"))
_DROPOUTS = frozenset(
    f"aten::{name}{end}"
    for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    for end in ("", "_")
)


def remove_dropout(block: Block) -> None:
    """Take out dropout that drops nothing."""
    for node in list(walk(block)):
        if node.kind in _DROPOUTS and is_constant(node.inputs[2]) and not constant_of(node.inputs[2]):
            replace(node.output, node.inputs[0])
            remove(node)


def _layer_before(value: Value, kinds: tuple[str, ...]) -> Node | None:
    """The layer with constant weights that alone gives a value, which nobody else reads."""
    node = value.node
    readers = [user for user, _ in value.uses if user.kind not in _SHAPES]
    if node is None or node.kind not in kinds or len(readers) != 1:
        return None
    if node.kind == "aten::_convolution" and (not is_constant(node.inputs[6]) or constant_of(node.inputs[6])):
        return None  # transposed: its weight has the channels elsewhere
    return node if all(map(is_constant, node.inputs[1:3])) else None


def _set_weights(node: Node, weight: Any, bias: Any) -> None:
    for place, value in ((1, weight), (2, bias)):
        if value is not None:
            reread(node, place, constant_before(node, value.detach(), TENSOR, ("weight", "bias")[place - 1]))


def _merge_norm(block: Block, kinds: tuple[str, ...], fuse: Callable[..., Any], one_feature: bool) -> None:
    """Put batch norms of running statistics into the layers before them."""
    for node in list(walk(block)):
        if node.kind != "aten::batch_norm" or not all(map(is_constant, node.inputs[1:])):
            continue
        layer = _layer_before(node.inputs[0], kinds)
        weight, bias, mean, var, training, _, eps, _ = map(constant_of, node.inputs[1:])
        if layer is None or training or mean is None or var is None:
            continue
        old, old_bias = map(constant_of, layer.inputs[1:3])
        if len(var) != len(old) and not (one_feature and len(var) == 1):
            continue
        with torch.no_grad():
            fused = fuse(old, old_bias, mean, var, eps, weight, bias)
        _set_weights(layer, *fused)
        replace(node.output, layer.output)
        remove(node)


def fold_conv_bn(block: Block) -> None:
    """Put batch norms into the convolutions before them."""
    _merge_norm(block, _CONVOLUTIONS, fuse_conv_bn_weights, False)


def fold_linear_bn(block: Block) -> None:
    """Put batch norms into the linear layers before them."""
    _merge_norm(block, ("aten::linear",), fuse_linear_bn_weights, True)


def _channels(other: Any, weight: Any) -> Any:
    """A constant as one number for each channel of a convolution; None where it is of another shape."""
    dims, count = weight.dim(), weight.shape[0]
    if not isinstance(other, torch.Tensor):
        return torch.full((count,), other, dtype=weight.dtype)
    if other.dtype.is_complex or (other.dtype.is_floating_point and other.dtype != weight.dtype):
        return None
    if other.numel() == 1:
        return other.to(weight.dtype).reshape(1).expand(count) if other.dim() <= dims else None
    fits = other.dim() in (dims, dims - 1) and other.numel() == count and other.shape[1 - dims] == count
    return other.to(weight.dtype).reshape(count) if fits else None


def _merge_arithmetic(block: Block, ops: tuple[str, str]) -> None:
    """Put an op with a constant into the convolution before it."""
    for node in list(walk(block)):
        if node.kind not in ops or len(node.inputs) < 2 or not all(map(is_constant, node.inputs[1:])):
            continue
        layer = _layer_before(node.inputs[0], _CONVOLUTIONS)
        if layer is None or [v for v in node.inputs[2:] if constant_of(v) != 1]:
            continue
        weight, bias = map(constant_of, layer.inputs[1:3])
        other = _channels(constant_of(node.inputs[1]), weight)
        if other is None:
            continue
        with torch.no_grad():
            bias = torch.zeros(weight.shape[0], dtype=weight.dtype) if bias is None else bias
            name = node.kind[6:]
            if name in ("add", "sub"):
                weight, bias = None, getattr(torch, name)(bias, other)
            else:
                combine = getattr(torch, name)
                rows = other.reshape(-1, *[1] * (weight.dim() - 1))
                weight, bias = combine(weight, rows), combine(bias, other)
        _set_weights(layer, weight, bias)
        replace(node.output, layer.output)
        remove(node)


def fold_conv_add_or_sub(block: Block) -> None:
    """Put sums with constants into the bias of the convolutions before them."""
    _merge_arithmetic(block, ("aten::add", "aten::sub"))


def fold_conv_mul_or_div(block: Block) -> None:
    """Put products with constants into the convolutions before them."""
    _merge_arithmetic(block, ("aten::mul", "aten::div"))


def transpose_linear(block: Block) -> None:
    """Write linear layers as products with the transposed weight."""
    product = next(s for s in schemas.named("aten::matmul") if not s.overload)
    total = next(s for s in schemas.named("aten::add") if s.overload == "Tensor")
    for node in list(walk(block)):
        if node.kind != "aten::linear" or not is_constant(node.inputs[1]):
            continue
        x, weight, bias = node.inputs
        turned = constant_before(node, constant_of(weight).t().contiguous(), TENSOR, "weight")
        made = node_before(node, "aten::matmul", [x, turned], TENSOR, product)
        if not (is_constant(bias) and constant_of(bias) is None):
            one = constant_before(node, 1, INT)
            made = node_before(node, "aten::add", [made, bias, one], TENSOR, total)
        replace(node.output, made)
        remove(node)


def remove_detach(block: Block) -> None:
    """Take out detach where nobody asks whether its result is the same tensor."""
    for node in list(walk(block)):
        if node.kind == "aten::detach" and not any(user.kind in _SAME for user, _ in node.output.uses):
            replace(node.output, node.inputs[0])
            remove(node)


def optimize(block: Block, numerics: bool = True) -> None:
    """All of these; with `numerics` also those after which results differ in their last bits."""
    remove_dropout(block)
    remove_detach(block)
    if numerics:
        for _ in range(3):  # what was behind one op is behind a convolution now
            fold_conv_mul_or_div(block)
            fold_conv_add_or_sub(block)
            fold_conv_bn(block)
            fold_linear_bn(block)
    sweep(block)
