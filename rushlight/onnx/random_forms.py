"""Random numbers: ONNX draws them by nodes of its own, which whoever runs the model seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight.onnx.builder import Ref
from rushlight.onnx.forms import Forms, form_of


def _drawn(form: Forms, op: str, **attributes: float) -> Ref:
    """What a node draws, float32 in the result's sizes."""
    place = form.onnx.Expand(form.onnx.constant(np.zeros((), np.float32)), form.out_shape())
    drawn: Ref = form.onnx.op(op)(place, **attributes)
    return drawn


@form_of("randn", "randn_like")
def randn(form: Forms) -> Ref:
    """Normal numbers of mean 0 and variance 1."""
    return form.as_out(_drawn(form, "RandomNormalLike"))


@form_of("normal")
def normal(form: Forms, mean: Any, std: Any) -> Ref:
    """Normal numbers, of means and deviations that may be tensors."""
    spread = form.onnx.Mul(form.as_out(_drawn(form, "RandomNormalLike")), form.as_out(std))
    return form.onnx.Add(spread, form.as_out(mean))


@form_of("rand", "rand_like")
def rand(form: Forms) -> Ref:
    """Numbers of [0, 1)."""
    return form.as_out(_drawn(form, "RandomUniformLike"))


@form_of("randint", "randint_like")
def randint(form: Forms, low: Any, high: Any) -> Ref:
    """Whole numbers of [low, high); of [0, low) where sizes, or nothing, follow one number."""
    least, end = (low, high) if isinstance(low, int) and isinstance(high, int) else (0, low or high)
    drawn = _drawn(form, "RandomUniformLike", low=float(least), high=float(end))
    return form.as_out(form.onnx.Floor(drawn))


@form_of("bernoulli")
def bernoulli(form: Forms, input: Ref, p: float | None) -> Ref:
    """Ones with the probabilities that a tensor holds, or with one."""
    drawn = _drawn(form, "RandomUniformLike")
    bound = form.as_float(p) if p is not None else form.onnx.cast(input, dt.float32)
    return form.as_out(form.onnx.Less(drawn, bound, to_dtype=dt.bool_))
