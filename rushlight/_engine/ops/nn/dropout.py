"""Dropout in all its forms, rrelu and gumbel_softmax: random numbers inside a network.

The noise is drawn by rows without gradient; what is done with it is written with ordinary rows, so
that gradients are theirs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.conversion import convert
from rushlight._engine.core.layout import strided_memory, strides_like
from rushlight._engine.numerics import distributions
from rushlight._engine.numerics.distributions import in_memory_order
from rushlight._engine.ops.creation.random import engine_of
from rushlight._engine.ops.table import ROWS, Array, Row, composite, opaque

# SELU's scale times its alpha: what alpha_dropout sets the dropped elements to, before it restores
# mean and variance.
_ALPHA = 1.7580993408473766


@opaque(name="_keep", where=("aten",))
def _keep(input, p: float, channels: bool = False, share: float = 1.0) -> Array:
    """1 / share with probability 1 - p, else zero, for each element, or each of dims 0 and 1."""
    like = np.empty((*input.shape[:2], *[1] * (input.ndim - 2)), input.dtype) if channels else _dense(input)
    of = dt.from_numpy_dtype(like.dtype)
    if share != 1 and of.category < dt.FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {of.legacy}: "
            "dropout scales what it keeps; convert the input to a floating dtype"
        )
    one = None if share == 1 else _share_of_one(of, share)
    kept = distributions.bernoulli(engine_of("dropout", None), like.size, of, 1 - p, one)
    return in_memory_order(kept, like)


_keep.shape_rule(
    lambda input, p, channels=False, share=1.0: (
        input.new_empty((*input.shape[:2], *[1] * (input.ndim - 2)))
        if channels
        else ROWS["empty_like"](input)
    )
)


@lru_cache(maxsize=64)
def _share_of_one(of: dt.dtype, share: float) -> Array:
    """1 / share in a dtype."""
    one = dt.opmath(of).np.type(1)
    return convert(np.asarray(one / one.dtype.type(share)), of.np)


def _dense(a: Array) -> Array:
    """An array that lies in memory as an expanded one's noise does: as empty_like's."""
    if 0 not in a.strides:
        return a
    strides = tuple([s // a.itemsize for s in a.strides])
    return strided_memory(a.shape, strides_like(a.shape, strides), a.dtype)


def check_probability(p: float) -> None:
    """What an op says of one, past what nn.functional's functions say themselves."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(
    input: Any, p: float, train: bool, channels: bool = False, alpha: bool = False, inplace: bool = False
) -> Any:
    """The one rule behind all forms of dropout."""
    check_probability(p)
    if not p or not train or not input.numel():
        return input
    times = input.mul_ if inplace else input.mul
    if p == 1:
        return times(input.new_zeros(()))
    if channels and input.ndim < 2:
        raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {input.ndim}")
    if not alpha:
        return times(_keep(input, p, channels, 1 - p))
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.legacy}")
    noise = _keep(input, p, channels)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    offset = noise.add(-1).mul(_ALPHA * scale).add(_ALPHA * scale * p)
    scaled = times(noise.mul(scale))
    return scaled.add_(offset) if inplace else scaled.add(offset)


# --- torch.dropout and its relatives --------------------------------------------------------------


def _forms(name: str, doc: str, **how: bool) -> None:
    """torch.NAME and torch.NAME_."""

    def functional(input, p: float, train: bool):
        return _dropped(input, p, train, **how)

    def in_place(input, p: float, train: bool):
        return _dropped(input, p, train, inplace=True, **how)

    composite(functional, name=f"torch_{name}", where=(f"torch.{name}",), doc=doc)
    composite(in_place, name=f"{name}_", where=("torch",), doc=f"{name} in place.")


_forms("dropout", "Each element zero with probability p, the others divided by 1 - p; input if not train.")
_forms("feature_dropout", "dropout of whole channels (dim 1).", channels=True)
_forms("alpha_dropout", "dropout that keeps SELU's mean and variance.", alpha=True)
_forms("feature_alpha_dropout", "alpha_dropout of whole channels.", channels=True, alpha=True)


@composite(where=("torch",))
def native_dropout(input, p: float, train: bool | None):
    """(dropped input, the mask of what was kept)."""
    if train is False or not input.numel():
        return input.clone(), ROWS["ones_like"](input, dtype=dt.bool_)
    kept = _keep(ROWS["zeros_like"](input, dtype=dt.bool_), p)
    return input.mul(kept.to(input.dtype).mul(0.0 if p == 1 else 1 / (1 - p))), kept


# --- nn.functional --------------------------------------------------------------------------------


def _functional(name: str, doc: str, default: bool, **how: bool) -> Row:
    """nn.functional.NAME; `default`: of training."""

    def body(input, p: float = 0.5, training: bool = default, inplace: bool = False):
        _check(p)
        return _dropped(input, p, training, inplace=inplace, **how)

    return composite(body, name=name, doc=doc, where=("nn.functional",))


dropout = _functional(
    "dropout",
    "Each element zero with probability p, the others divided by 1 - p, in training; else the input itself.",
    True,
)
_functional("alpha_dropout", "dropout that keeps SELU's mean and variance.", False, alpha=True)
_functional(
    "feature_alpha_dropout", "alpha_dropout of whole channels (dim 1).", False, channels=True, alpha=True
)


def _batched(input: Any, p: float, training: bool, inplace: bool, unbatched: bool) -> Any:
    if not unbatched:
        return _dropped(input, p, training, channels=True, inplace=inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    made = _dropped(batch, p, training, channels=True, inplace=inplace)
    return made.squeeze_(0) if inplace else made.squeeze(0)


@composite(where=("nn.functional",))
def dropout1d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """dropout of whole channels of (N, C, L) or (C, L)."""
    _check(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d "
            "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
            "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _batched(input, p, training, inplace, input.ndim == 2)


def _warn_rank(input: Any, n: int) -> None:
    if input.ndim not in (n + 1, n + 2):
        warn(
            f"dropout{n}d: Received a {input.ndim}-D input to dropout{n}d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence this "
            f"warning, please use dropout instead. Note that dropout{n}d exists to provide "
            f"channel-wise dropout on inputs with {n} spatial dimensions, a channel dimension, and "
            f"an optional batch dimension (i.e. {n + 1}D or {n + 2}D inputs)."
        )


@composite(where=("nn.functional",))
def dropout2d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """dropout of whole channels of (N, C, H, W); of (N, C, L) too, as in PyTorch."""
    _check(p)
    _warn_rank(input, 2)
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is the "
            "channel dim. This behavior will change in a future release to interpret the input as "
            "one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
        )
    return _dropped(input, p, training, channels=True, inplace=inplace)


@composite(where=("nn.functional",))
def dropout3d(input, p: float = 0.5, training: bool = True, inplace: bool = False):
    """dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check(p)
    _warn_rank(input, 3)
    return _batched(input, p, training, inplace, input.ndim != 5)


# --- rrelu, gumbel_softmax ------------------------------------------------------------------------


@opaque(name="_rrelu_slopes", where=("aten",))
def _rrelu_slopes(input, lower: float, upper: float, generator: Any = None) -> Array:
    """A random slope of [lower, upper) for each element that is not positive, 1 for the others.

    The half precisions get slopes in float32.
    """
    of = dt.from_numpy_dtype(input.dtype)
    if of not in (dt.float32, dt.float64, dt.bfloat16):
        distributions.not_implemented("rrelu_with_noise_out_cpu", of)
    work = dt.opmath(of).np
    flat = np.asarray(input, order="C").reshape(-1)
    steep = np.flatnonzero(flat <= 0)
    low, high = (float(work.type(bound)) for bound in (lower, upper))
    drawn = distributions.standard64(engine_of("rrelu", generator), steep.size)
    slopes = np.ones(flat.shape, work)
    slopes[steep] = drawn * (high - low) + low
    return slopes.reshape(input.shape)


_rrelu_slopes.shape_rule(lambda input, lower, upper, generator=None: input)


def _slopes_of_device(input: Any, lower: float, upper: float, generator: Any) -> Any:
    """The same, as PyTorch's kernel draws them: one for each element."""
    values = input.detach().contiguous()
    return ROWS["where"](values <= 0, ROWS["uniform"](values, lower, upper, generator=generator), 1)


def _rrelu(input: Any, lower: float, upper: float, training: bool, generator: Any, inplace: bool) -> Any:
    for bound, name in ((lower, "lower"), (upper, "upper")):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got lower={lower}, upper={upper}"
        )
    if training:
        draw = _slopes_of_device if input.is_cuda else _rrelu_slopes
        slopes = draw(input, lower, upper, generator)
        return input.mul_(slopes) if inplace else input.mul(slopes).to(input.dtype)
    mean = ROWS["leaky_relu"](input.contiguous(), (lower + upper) / 2)
    return input.copy_(mean) if inplace else mean


def _rrelu_row(name: str, doc: str, inplace: bool, *where: str) -> None:
    def body(
        input,
        lower: float = 1 / 8,
        upper: float = 1 / 3,
        training: bool = False,
        generator: Any = None,
    ):
        return _rrelu(input, lower, upper, training, generator, inplace)

    composite(body, name=name, doc=doc, where=where)


_rrelu_row(
    "torch_rrelu",
    "input where positive, else input times a slope: random while training, else the mean one.",
    False,
    "torch.rrelu",
)
_rrelu_row("rrelu_", "rrelu in place.", True, "torch", "nn.functional")


@composite(where=("nn.functional",))
def rrelu(input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False):
    """input where positive, else input times a slope: random while training, else the mean one."""
    return _rrelu(input, lower, upper, training, None, inplace)


@composite(where=("nn.functional",))
def gumbel_softmax(logits, tau: float | Tensor = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1):
    """softmax of logits plus Gumbel noise; hard: one-hot, with the soft one's gradient."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -ROWS["empty_like"](logits.detach()).contiguous().exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = ROWS["zeros_like"](logits.detach()).contiguous().scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
