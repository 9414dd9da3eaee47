"""Uniform numbers to normal ones, bit for bit as PyTorch's AVX2 kernel does it for float32.

That kernel takes 16 uniforms at a time, the first 8 as radii and the last 8 as angles, and reads
log, sin and cos from the single-precision polynomials of the Cephes library (S. Moshier), with
fused multiply-adds.  The same numbers come out here whatever this machine has.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight.base.fused import fma32

Array = np.ndarray[Any, Any]

GROUP = 16
# Groups at a time: enough to hide the price of a NumPy call, few enough to stay in cache.
_BLOCK = 2048

_f32 = np.float32
_LOG = tuple(map(_f32, (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                        1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                        3.3333331174e-1)))
_COS = tuple(map(_f32, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)))
_SIN = tuple(map(_f32, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)))
# ln 2 and pi / 4 in parts, the first ones short enough for exact products.
_LN2_HIGH, _LN2_LOW = _f32(0.693359375), _f32(-2.12194440e-4)
_QUARTER_PI = tuple(map(_f32, (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)))
_FOUR_OVER_PI, _TWO_PI = _f32(4 / math.pi), _f32(2 * math.pi)
_HALF, _ONE = _f32(0.5), _f32(1)
_SQRT_HALF_BITS = _f32(math.sqrt(0.5)).view(np.int32)


def normal32(uniforms: Array) -> None:
    """Turn float32 uniforms of [0, 1) into standard normals, in place; length a multiple of 16."""
    groups = uniforms.reshape(-1, 2, GROUP // 2)
    for first in range(0, len(groups), _BLOCK):
        block = groups[first:first + _BLOCK]
        radius = np.sqrt(_f32(-2) * _log(_ONE - block[:, 0]))
        sine, cosine = _sincos(_TWO_PI * block[:, 1])
        np.multiply(radius, cosine, out=block[:, 0])
        np.multiply(radius, sine, out=block[:, 1])


def normal64(uniforms: Array) -> None:
    """The same for float64, where PyTorch calls the C library."""
    groups = uniforms.reshape(-1, 2, GROUP // 2)
    radius = np.sqrt(-2 * np.log(1 - groups[:, 0]))
    angle = 2 * math.pi * groups[:, 1]
    np.multiply(radius, np.cos(angle), out=groups[:, 0])
    np.multiply(radius, np.sin(angle), out=groups[:, 1])


def _polynomial(x: Array, coefficients: tuple[Any, ...]) -> Array:
    wide = x.astype(np.float64)
    total: Any = coefficients[0]
    for c in coefficients[1:]:
        total = (total * wide + c).astype(np.float32)  # fma32 with the cast of x shared
    return total


def _log(x: Array) -> Array:
    """log of numbers in (0, 1]: x = m 2^e with m in [sqrt(1/2), sqrt(2))."""
    bits = x.view(np.int32)
    exponent = (bits - _SQRT_HALF_BITS) >> 23
    m = (bits - (exponent << 23)).view(np.float32) - _ONE
    e = exponent.astype(np.float32)
    square = m * m
    y = _polynomial(m, _LOG) * m
    y = fma32(y, square, e * _LN2_LOW)
    y = fma32(square, -_HALF, y)
    return fma32(e, _LN2_HIGH, m + y)


def _sincos(x: Array) -> tuple[Array, Array]:
    """sin and cos of numbers in [0, 2 pi)."""
    octant = ((x * _FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    turns = octant.astype(np.float32)
    for part in _QUARTER_PI:
        x = fma32(turns, -part, x)
    square = x * x
    cosine = fma32(_polynomial(square, _COS) * square, square, -(_HALF * square)) + _ONE
    sine = fma32(_polynomial(square, _SIN) * square, x, x)
    # In every other quadrant the two change places; signs follow the quadrant. Bits do both.
    sines, cosines = sine.view(np.int32), cosine.view(np.int32)
    changed = (sines ^ cosines) & -(octant >> 1 & 1)
    sines ^= changed ^ ((octant & 4) << 29)
    cosines ^= changed ^ ((octant + 2 & 4) << 29)
    return sine, cosine
