"""Random words to normal numbers, bit for bit as PyTorch's AVX2 kernel makes them for float32.

That kernel takes 16 uniforms at a time, the first 8 as radii and the last 8 as angles, and reads
log, sin and cos from the single-precision polynomials of the Cephes library (S. Moshier), with
fused multiply-adds.  The same numbers come out here whatever this machine has, on NumPy and from
the machine code of kernels/moves/box_muller.py, which shares the constants.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.core.services import service
from rushlight._engine.numerics.fma import Array, fma32
from rushlight._engine.numerics.ufunc import c_library

GROUP = 16
# Groups at a time: enough to hide the price of a NumPy call, few enough to stay in cache.
_BLOCK = 2048

_f32 = np.float32
LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
# ln 2 and pi / 4 in parts, the first ones short enough for exact products.
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
QUARTER_PI = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
FOUR_OVER_PI, TWO_PI = 4 / math.pi, 2 * math.pi
SQRT_HALF_BITS = int(_f32(math.sqrt(0.5)).view(np.int32))
LOW_24, UNIT_24 = (1 << 24) - 1, 2.0**-24


def normal32(words: Array, mean: float = 0.0, std: float = 1.0) -> Array:
    """float32 normals from uint32 words, in their memory; their number is a multiple of 16."""
    # In blocks, so that a long array is not finished on NumPy while its machine code gets ready.
    most = _BLOCK * GROUP
    kernel = service("normal numbers")()
    for block in [words[k : k + most] for k in range(0, len(words), most)] if len(words) > most else [words]:
        if kernel is None or not kernel(block, mean, std):
            by_numpy(block, _f32(mean), _f32(std))
    return words.view(np.float32)


def by_numpy(words: Array, mean: Any, std: Any) -> None:
    """One block of normal32, on NumPy."""
    groups = words.view(np.float32).reshape(-1, 2, GROUP // 2)
    uniforms = (words & np.uint32(LOW_24)).astype(np.float32).reshape(groups.shape) * _f32(UNIT_24)
    radius = np.sqrt(_f32(-2) * _log(_f32(1) - uniforms[:, 0]))
    sine, cosine = _sincos(_f32(TWO_PI) * uniforms[:, 1])
    groups[:, 0] = _scaled(radius * cosine, mean, std)
    groups[:, 1] = _scaled(radius * sine, mean, std)


def _scaled(standard: Array, mean: Any, std: Any) -> Any:
    # The sum is made for a mean of 0 too: it turns -0 into 0.
    return standard + mean if std == 1 else fma32(standard, std, mean)


def normal64(uniforms: Array) -> None:
    """Turn float64 uniforms of [0, 1) into standard normals, in place, by the C library."""
    groups = uniforms.reshape(-1, 2, GROUP // 2)
    radius = np.sqrt(-2 * c_library("log")(1 - groups[:, 0]))
    angle = 2 * math.pi * groups[:, 1]
    np.multiply(radius, np.cos(angle), out=groups[:, 0])
    np.multiply(radius, np.sin(angle), out=groups[:, 1])


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Any:
    wide = x.astype(np.float64)
    total: Any = _f32(coefficients[0])
    for c in coefficients[1:]:
        total = (total * wide + _f32(c)).astype(np.float32)  # fma32 with the cast of x shared
    return total


def _log(x: Array) -> Any:
    """log of numbers in (0, 1]: x = m 2^e with m in [sqrt(1/2), sqrt(2))."""
    bits = x.view(np.int32)
    exponent = (bits - np.int32(SQRT_HALF_BITS)) >> 23
    m = (bits - (exponent << 23)).view(np.float32) - _f32(1)
    e = exponent.astype(np.float32)
    square = m * m
    y = _polynomial(m, LOG) * m
    y = fma32(y, square, e * _f32(LN2_LOW))
    y = fma32(square, _f32(-0.5), y)
    return fma32(e, _f32(LN2_HIGH), m + y)


def _sincos(x: Array) -> tuple[Any, Any]:
    """sin and cos of numbers in [0, 2 pi)."""
    octant = ((x * _f32(FOUR_OVER_PI)).astype(np.int32) + 1) & ~1
    turns = octant.astype(np.float32)
    for part in QUARTER_PI:
        x = fma32(turns, _f32(-part), x)
    square = x * x
    cosine = fma32(_polynomial(square, COS) * square, square, _f32(-0.5) * square) + _f32(1)
    sine = fma32(_polynomial(square, SIN) * square, x, x)
    # In every other quadrant the two change places; signs follow the quadrant. Bits do both.
    sines, cosines = sine.view(np.int32), cosine.view(np.int32)
    changed = (sines ^ cosines) & -(octant >> 1 & 1)
    sines ^= changed ^ ((octant & 4) << 29)
    cosines ^= changed ^ ((octant + 2 & 4) << 29)
    return sine, cosine
