"""torch.nn.functional: the rows of that namespace in the op table, and what is written with them.

A name is looked up here, then in the table; `relu`, `conv2d`, `cross_entropy`, ... are rows.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.services import service as _service
from rushlight._engine.dispatch.dispatcher import namespace

_find, _table = namespace("nn.functional")
# PyTorch's numbers of the modes of grid_sample.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
# Names written in Python that live in a file of their own.
_HOMES = {
    name: "rushlight.nn.multihead_attention"
    for name in (
        "multi_head_attention_forward",
        "_canonical_mask",
        "_none_or_dtype",
        "_mha_shape_check",
        "_in_projection",
        "_in_projection_packed",
    )
}
_HOMES |= dict.fromkeys(
    ("ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"), "rushlight.nn.scaled"
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        try:
            if name == "__all__":
                raise AttributeError(name)
            return _find(name)
        except AttributeError:
            alternatives = import_module("rushlight._engine.names.alternatives")
            return alternatives.attribute("rushlight.nn.functional", name)
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_table()})


def sigmoid(input: Any) -> torch.Tensor:
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def tanh(input: Any) -> torch.Tensor:
    """tanh(input)."""
    return input.tanh()


def normalize(
    input: Any, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Any = None
) -> torch.Tensor:
    """input over its p-norm along `dim`, or over eps where the norm is smaller."""
    if _service("whether classes take a call over")((input, out)):
        handle = _service("call of a class with a __torch_function__")
        made: torch.Tensor = handle(normalize, (input, out), input, p=p, dim=dim, eps=eps, out=out)
        return made
    if out is not None:
        return torch.div(input, input.norm(p, dim, keepdim=True).clamp_min_(eps).expand_as(input), out=out)
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@_service("function that asks")
def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> torch.Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    input (N, in) or (in,); linear_weight (C, in) or (C, d1, ..., in) for targets (N, d1, ...).
    """
    _check_linear_cross_entropy(input, linear_weight, linear_bias, target, ignore_index)
    classes = linear_weight.shape[:-1]
    logits = _find("linear")(
        input, linear_weight.flatten(0, -2), None if linear_bias is None else linear_bias.flatten()
    )
    if len(classes) > 1:
        logits = logits.unflatten(-1, classes)
    given = {} if ignore_index is None else {"ignore_index": ignore_index}
    return _find("cross_entropy")(
        logits, target, weight=weight, reduction=reduction, label_smoothing=label_smoothing, **given
    )


def _check_linear_cross_entropy(
    input: Any, weight: Any, bias: Any, target: Any, ignore_index: int | None
) -> None:
    classes = tuple(weight.shape[:-1])
    if input.ndim not in (1, 2):
        problem = f"expected input with dimensionality 1 or 2, got {input.ndim}"
    elif weight.ndim < 2:
        problem = f"expected linear_weight with dimensionality at least 2, got {weight.ndim}"
    elif input.shape[-1] != weight.shape[-1]:
        problem = (
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    elif len(classes) > 1 and input.ndim == 1:
        problem = (
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched {tuple(input.shape)}"
        )
    elif bias is not None and tuple(bias.shape) != classes:
        problem = f"expected linear_bias shape {classes}, got {tuple(bias.shape)}"
    elif ignore_index is not None and target.is_floating_point():
        problem = "ignore_index cannot be specified when target contains probabilities"
    else:
        return
    raise RuntimeError(f"linear_cross_entropy: {problem}")


def _upsample(name: str, *args: Any, **kwargs: Any) -> torch.Tensor:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
    return _find("interpolate")(*args, **kwargs)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> torch.Tensor:
    """Deprecated: use interpolate."""
    return _upsample("upsample", input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> torch.Tensor:
    """Deprecated: use interpolate."""
    return _upsample("upsample_nearest", input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> torch.Tensor:
    """Deprecated: use interpolate with align_corners=True."""
    return _upsample("upsample_bilinear", input, size, scale_factor, mode="bilinear", align_corners=True)
