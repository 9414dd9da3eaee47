"""torch.nn.functional: the rows of that namespace in the op table, and what is written with them.

A name is looked up here, then in the table; `relu`, `conv2d`, `cross_entropy`, ... are rows.
"""
from __future__ import annotations

import warnings
from typing import Any

import rushlight as torch
from rushlight.dispatch.door import namespace

_find, _table = namespace("nn.functional")
# Names written in Python that live in a file of their own.
_HOMES = {name: "rushlight.nn.multihead_attention" for name in (
    "multi_head_attention_forward", "_canonical_mask", "_none_or_dtype", "_mha_shape_check",
    "_in_projection", "_in_projection_packed")}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        found = getattr(import_module(_HOMES[name]), name)
    else:
        found = _find(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_table()})


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """tanh(input)."""
    return input.tanh()


def normalize(input: Any, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12,
              out: Any = None) -> Any:
    """input over its p-norm along `dim`, or over eps where the norm is smaller."""
    if out is not None:
        return torch.div(input, input.norm(p, dim, keepdim=True).clamp_min_(eps).expand_as(input),
                         out=out)
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10,
                   dim: int = -1) -> Any:
    """A sample from the Gumbel-softmax distribution; `hard`: one-hot, with the soft one's gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.preserve_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def triplet_margin_with_distance_loss(
        anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None,
        margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin). See the loss module."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
            f"{negative.dim()}D inputs")
    distance = torch.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced(torch.clamp_min(margin + near - far, 0), reduction)


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction; use none, mean or sum")


def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None,
                         weight: Any = None, reduction: str = "mean",
                         ignore_index: int | None = None, label_smoothing: float = 0.0,
                         options: Any = None) -> Any:
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    input (N, in) or (in,); linear_weight (C, in) or (C, d1, ..., in) for targets (N, d1, ...).
    """
    classes = linear_weight.shape[:-1]
    logits = _find("linear")(input, linear_weight.flatten(0, -2),
                             None if linear_bias is None else linear_bias.flatten())
    if len(classes) > 1:
        logits = logits.unflatten(-1, classes)
    given = {} if ignore_index is None else {"ignore_index": ignore_index}
    return _find("cross_entropy")(logits, target, weight=weight, reduction=reduction,
                                  label_smoothing=label_smoothing, **given)


def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Any:
    """Deprecated: use interpolate."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return _find("interpolate")(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Deprecated: use interpolate."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` "
                  "instead.", stacklevel=2)
    return _find("interpolate")(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Deprecated: use interpolate with align_corners=True."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` "
                  "instead.", stacklevel=2)
    return _find("interpolate")(input, size, scale_factor, mode="bilinear", align_corners=True)


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """AssertionError unless `arg` is an int or a pair."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))
