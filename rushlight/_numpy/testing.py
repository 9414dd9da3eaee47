"""numpy.testing's functions over our arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rushlight._numpy._ndarray import by_numpy


def __getattr__(name: str) -> Any:
    """A function of NumPy's, which gets NumPy's own arrays."""
    found = getattr(np.testing, name)
    return partial(by_numpy, found) if callable(found) and not isinstance(found, type) else found
