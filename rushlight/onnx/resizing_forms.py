"""Up- and downsampling, as ONNX's Resize."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.export.numbers.symbolic import SIZES
from rushlight.onnx.builder import Ref
from rushlight.onnx.forms import Forms, form_of, known

_ASYMMETRIC: dict[str, Any] = {
    "mode": "nearest",
    "nearest_mode": "floor",
    "coordinate_transformation_mode": "asymmetric",
}
_CENTERS: dict[str, Any] = {"mode": "nearest", "nearest_mode": "round_prefer_ceil"}
_CUBIC: dict[str, Any] = {"mode": "cubic", "cubic_coeff_a": -0.75}


def _resized(form: Forms, input: Ref, align: bool = False, **how: Any) -> Ref:
    """An input resampled, by scales where places are told by these and not by the sizes."""
    how = {"coordinate_transformation_mode": "align_corners" if align else "half_pixel", **how}
    scales = _scales(form, len(input.shape) - 2)
    if align or all(scale is None for scale in scales):
        return form.onnx.Resize(input, None, None, form.out_shape(), **how)
    sizes = zip(scales, input.shape[2:], form.outs[0].shape[2:], strict=True)
    factors = np.array([1, 1, *(_factor(*facts) for facts in sizes)], np.float32)
    return form.onnx.Resize(input, None, form.onnx.constant(factors), **how)


def _scales(form: Forms, dims: int) -> list[Any]:
    """The scale of each dim, as either of an op's overloads tells them; None where there is none."""
    listed = form.given.get("scale_factors")
    if listed is not None:
        return list(listed)
    names = ["scales"] if dims == 1 else [f"scales_{d}" for d in "dhw"[3 - dims :]]
    return [form.given.get(name) for name in names]


def _factor(scale: float | None, size: Any, out: Any) -> Any:
    """A scale in float32, by which a size becomes the same one as by the scale itself."""
    if isinstance(size, SIZES) or isinstance(out, SIZES):
        (size, out) = known([size, out]) if scale is None else (0, 0)
    factor = np.float32(out / size if scale is None else scale)
    while min(int(factor * np.float32(size)), int(float(factor) * size)) < out:
        factor = np.nextafter(factor, np.float32(np.inf))
    while max(int(factor * np.float32(size)), int(float(factor) * size)) > out:
        factor = np.nextafter(factor, np.float32(0))
    return factor


@form_of("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(form: Forms, input: Ref) -> Ref:
    """The nearest below."""
    return _resized(form, input, **_ASYMMETRIC)


@form_of("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def upsample_nearest_exact(form: Forms, input: Ref) -> Ref:
    """The nearest of the elements' centers."""
    return _resized(form, input, **_CENTERS)


@form_of("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(form: Forms, input: Ref, align_corners: Any) -> Ref:
    """A blend of two in each dim."""
    return _resized(form, input, align_corners, mode="linear")


@form_of("upsample_bicubic2d")
def upsample_bicubic2d(form: Forms, input: Ref, align_corners: Any) -> Ref:
    """A blend of four in each dim."""
    return _resized(form, input, align_corners, **_CUBIC)


@form_of("_upsample_bilinear2d_aa")
def upsample_bilinear2d_aa(form: Forms, input: Ref, align_corners: Any) -> Ref:
    """A blend of all that an element covers."""
    return _resized(form, input, align_corners, mode="linear", antialias=1, exclude_outside=1)


@form_of("_upsample_bicubic2d_aa")
def upsample_bicubic2d_aa(form: Forms, input: Ref, align_corners: Any) -> Ref:
    """A cubic blend of all that an element covers."""
    how = {**_CUBIC, "cubic_coeff_a": -0.5, "antialias": 1, "exclude_outside": 1}
    return _resized(form, input, align_corners, **how)
