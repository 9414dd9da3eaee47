"""x * y + z rounded once, as the processor's fused multiply-add does it, on NumPy arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def fma32(x: Any, y: Any, z: Any) -> Any:
    """float32 operands and result.

    A float64 holds the product exactly, so only the sum is rounded twice: about one result in
    2^29 is off by its last bit.
    """
    return (np.multiply(x, y, dtype=np.float64) + z).astype(np.float32)


def fma64(x: Any, y: Any, z: Any) -> Any:
    """Operands and result of float64, or wider: Dekker's exact product, then Knuth's exact sum."""
    product = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    total = product + z
    shift = total - product
    missed = (product - (total - shift)) + (z - shift)
    return total + (missed + lost)


def fma(x: Any, y: Any, z: Any) -> Any:
    """Operands of one dtype: rounded once if they are real and floating, and as usual if not."""
    if x.dtype == np.float32:
        return fma32(x, y, z)
    if x.dtype.kind != "f":
        return x * y + z
    found = fma64(x, y, z)
    # Its products overflow and underflow early, and its sums lose the sign of a zero.
    odd = ~(np.isfinite(found) & (np.abs(found) > 1e-290))
    return np.where(odd, (np.longdouble(1) * x * y + z).astype(x.dtype), found) if odd.any() else found


def _halves(x: Any) -> tuple[Any, Any]:
    """x as a sum of two numbers of half its bits (26 of a float64's)."""
    scaled = x * _splitter(x.dtype if isinstance(x, np.ndarray) else np.result_type(x, 1.0))
    high = scaled - (scaled - x)
    return high, x - high


@cache
def _splitter(of: np.dtype[Any]) -> float:
    return float(2.0 ** (np.finfo(of).nmant // 2 + 1) + 1)
