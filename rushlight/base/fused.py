"""x * y + z rounded once, as the processor's fused multiply-add does it, on NumPy arrays."""
from __future__ import annotations

from typing import Any

import numpy as np

_SPLITTER = 2.0**27 + 1


def fma32(x: Any, y: Any, z: Any) -> Any:
    """float32 operands and result.

    A float64 holds the product exactly, so only the sum is rounded twice: about one result in
    2^29 is off by its last bit.
    """
    return (np.multiply(x, y, dtype=np.float64) + z).astype(np.float32)


def fma64(x: Any, y: Any, z: Any) -> Any:
    """float64 operands and result: Dekker's exact product, then Knuth's exact sum."""
    product = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    total = product + z
    shift = total - product
    missed = (product - (total - shift)) + (z - shift)
    return total + (missed + lost)


def _halves(x: Any) -> tuple[Any, Any]:
    """x as a sum of two numbers of 26 bits."""
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high
