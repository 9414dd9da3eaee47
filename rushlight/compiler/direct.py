"""Kernels on few elements that lie as one line, by their loops alone: NumPy's way to a loop takes longer than
the loop. The call is one of Python's own (`ufunc.builtin`), and keeps the interpreter's lock meanwhile.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from rushlight.base.layout import contiguous_strides
from rushlight.base.ufunc import LOOPS
from rushlight.compiler import pool, team

Array = np.ndarray[Any, Any]
# Elements of an operand up to which other threads may wait for the call.
_FEW = 1 << 12


def few(kernel: Any, arrays: Sequence[Any]) -> team.Call | None:
    """The kernel on arrays that lie as these do, and on memory for its results; None where NumPy is called."""
    if kernel.fn not in LOOPS or not all([
            a.__class__ is np.ndarray and a.flags.c_contiguous and a.dtype.name == d and 0 < a.size <= _FEW
            for a, (_, d) in zip(arrays, kernel.inputs, strict=True)]):
        return None
    shape, extent = pool.common(tuple([a.shape for a in arrays]), kernel.core)
    made = [(*shape, *extent) if core else shape for core in kernel.core[len(arrays):]]
    results = [(s, tuple([n * of.itemsize for n in contiguous_strides(s)]))
               for s, of in zip(made, kernel.out, strict=True)]
    lines = team.lines((*[(a.shape, a.strides) for a in arrays], *results), kernel.core, shape, 1)
    if lines is None or max([prod(s) for s in made]) > _FEW:
        return None
    jobs, steps = lines
    return team.Call((LOOPS[kernel.fn], jobs, range(len(kernel.core)), len(kernel.core), steps), few=True)
