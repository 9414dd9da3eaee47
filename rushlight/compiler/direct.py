"""Kernels on few elements that lie as one line, by their loops alone: NumPy's way to a loop takes longer than
the loop. The call is one of Python's own (`ufunc.builtin`), and keeps the interpreter's lock meanwhile.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.base.layout import contiguous_strides
from rushlight.base.ufunc import LOOPS, builtin
from rushlight.compiler import native, pool, team

Array = np.ndarray[Any, Any]
# Elements of an operand up to which other threads may wait for the call.
_FEW = 1 << 12


def table(kernel: Any, arrays: Sequence[Any]) -> Array | None:
    """What `call()` takes before arrays that lie as these do, and memory for results; None where NumPy is called."""
    if kernel.fn not in LOOPS or not all([
            a.__class__ is np.ndarray and a.flags.c_contiguous and a.dtype.name == d and 0 < a.size <= _FEW
            for a, (_, d) in zip(arrays, kernel.inputs, strict=True)]):
        return None
    shape, extent = pool.common(tuple([a.shape for a in arrays]), kernel.core)
    made = [(*shape, *extent) if core else shape for core in kernel.core[len(arrays):]]
    results = [(s, tuple([n * of.itemsize for n in contiguous_strides(s)]))
               for s, of in zip(made, kernel.out, strict=True)]
    lines = team.lines((*[(a.shape, a.strides) for a in arrays], *results), kernel.core, shape, 1)
    if lines is None or len(lines[0]) != 1 or max([prod(s) for s in made]) > _FEW:
        return None
    dims = lines[0][0, len(kernel.core):]
    return np.array([LOOPS[kernel.fn], 16 + 8 * len(dims), *dims, *lines[1]], np.int64)


@lru_cache(maxsize=None)
def call() -> Callable[..., Array]:
    """The builtin (table, *arrays), which gives the last one."""
    return builtin("direct", native.runtime_address("rl_direct"))
