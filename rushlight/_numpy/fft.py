"""numpy.fft's functions over our arrays: they are computed by NumPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rushlight._numpy._ndarray import by_numpy


def __getattr__(name: str) -> Any:
    """A function of NumPy's; a class, as it is."""
    found = getattr(np.fft, name)
    return partial(by_numpy, found) if callable(found) and not isinstance(found, type) else found
