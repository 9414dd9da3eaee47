"""Schedules found by trying them out, for mode="max-autotune": how many rows a job of a product has.

No choice changes a bit of the result. What is found holds for the process.
"""

from __future__ import annotations

import timeit
from functools import lru_cache, partial
from typing import Any

import numpy as np

from rushlight._engine.kernels.products import gemm
from rushlight._engine.kernels.runtime import parallel

Array = np.ndarray[Any, Any]
_CHOICES, _TRIES = (0, 24, 48, 96, 192, 384, 768), 5


def rows(a: Array, b: Array) -> int:
    """Of how many rows jobs make a @ b the fastest; 0 for gemm's own choice."""
    return _found(tuple([(x.shape, x.strides) for x in (a, b)]), a.dtype, parallel.get_num_threads())


@lru_cache(maxsize=1024)
def _found(layouts: Any, dtype: Any, threads: int) -> int:
    a, b = [_like(shape, strides, dtype) for shape, strides in layouts]
    times = dict[int, float]()
    for choice in _CHOICES:
        work = gemm.multiplier(a, b, choice)
        if work is None:
            return 0
        call = partial(work, a, b)
        call()
        times[choice] = min(timeit.repeat(call, number=1, repeat=_TRIES))
    return min(times, key=lambda choice: times[choice])


def _like(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Array:
    """Numbers in memory that lies so."""
    reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) // dtype.itemsize + 1
    numbers = np.random.default_rng(0).standard_normal(reach).astype(dtype)
    return np.lib.stride_tricks.as_strided(numbers, shape, strides)
