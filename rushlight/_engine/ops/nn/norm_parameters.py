"""What norms ask of their parameters: shapes, dtypes, a number for each channel."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.dtype import float32
from rushlight._engine.core.layout import as_tuple
from rushlight._engine.ops.constant_operands import refuse_gradient


def refuse_running_gradients(running_mean: Any, running_var: Any) -> None:
    """RuntimeError where a gradient is asked for with regard to running moments."""
    refuse_gradient("native_batch_norm", "running_mean", running_mean)
    refuse_gradient("native_batch_norm", "running_var", running_var)


def check_shape(input: Any, normalized_shape: Any, weight: Any, bias: Any) -> tuple[int, ...]:
    shape = as_tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
            f"least one element, but got normalized_shape = {list(shape)}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and tuple(p.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got "
                f"{name} of shape {list(p.shape)} and normalized_shape = {list(shape)}"
            )
    if input.ndim < len(shape) or tuple(input.shape[input.ndim - len(shape) :]) != shape:
        star = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}], "
            f"but got input of size{list(input.shape)}"
        )
    return shape


def check_dtypes(input: Any, *params: Any) -> None:
    """Refuse parameters of other dtypes than the input's, but for float32's beside an input of two bytes."""
    own = input._kind.dtype
    odd = [p._kind.dtype for p in params if p is not None and p._kind.dtype is not own]
    if not odd:
        return
    given = [p.dtype for p in params if p is not None]
    if odd[0] is not given[0]:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {odd[0].legacy}")
    if any(of is not float32 for of in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype.itemsize != 2:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def check_channels(samples: int, channels: int, training: bool, *params: Any) -> None:
    """Refuse parameters that are not a number for each channel; in training, one running moment alone."""
    for name, p in zip(("running_mean", "running_var", "weight", "bias"), params, strict=True):
        if p is None or p._geometry.shape == (channels,):
            continue
        if p.numel() != channels:
            raise RuntimeError(
                f"{name} should contain {samples * channels} elements not {samples * p.numel()}"
            )
        if samples > 1 or name.startswith("running"):
            raise RuntimeError(f"{name}: expected 1 dims but tensor has {p.ndim}")
    if training and (params[0] is None) != (params[1] is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
