"""Full reductions: all elements of contiguous arrays, mapped and combined in one pass.

Long arrays are reduced in chunks of fixed size, over threads, and the chunks' results combined in
order: the same bits for any number of threads.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.compiler.rows import Rows, rows
from rushlight.ops.rowexpr import reduce_
from rushlight.ops.scalar import Expr

CHUNK = 1 << 15
_COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
            "any": np.logical_or, "all": np.logical_and}
FullInputs = tuple[tuple[str, str], ...]


class Full:
    """A reduction of an expression over arrays of one size; see `full`."""

    def __init__(self, kind: str, expr: Expr, inputs: FullInputs, out_dtype: str) -> None:
        self.kind, self.combine = kind, _COMBINE[kind]
        root = reduce_(kind, expr)
        roles = tuple((n, d, "vector") for n, d in inputs)
        probe = rows((root,), roles, (out_dtype,))
        # Chunks' results are kept as they were computed; the last step rounds.
        self.partial = "bool" if kind in ("any", "all") else dt.opmath(dt.BY_NAME[probe.work]).name
        self.kernel: Rows = rows((root,), roles, (self.partial,))
        self.out = dt.BY_NAME[out_dtype].np
        self._wide = np.float64 if self.partial == "float32" and kind in ("add", "mul") else None

    def __call__(self, *arrays: Any) -> Any:
        """The result, an array without axes; arrays are contiguous and of one size."""
        flat = [a.reshape(-1) for a in arrays]
        n = flat[0].size
        if n <= CHUNK:
            return np.asarray(self.kernel(*flat)).astype(self.out, copy=False)
        whole = n // CHUNK
        partials = np.empty(whole + (n % CHUNK > 0), dt.BY_NAME[self.partial].np)
        blocks = [f[:whole * CHUNK].reshape(whole, CHUNK) for f in flat]
        self.kernel.large(*blocks, out=partials[:whole])
        if n % CHUNK:
            self.kernel(*[f[None, whole * CHUNK:] for f in flat], out=partials[whole:])
        with np.errstate(all="ignore"):
            return np.asarray(self.combine.reduce(partials, dtype=self._wide)).astype(self.out)


@lru_cache(maxsize=None)
def full(kind: str, expr: Expr, inputs: FullInputs, out_dtype: str) -> Full:
    """The reduction `kind` ("add", "mul", "max", "min", "any", "all") of an expression, kept.

    `inputs` are (name, dtype name); call it with one contiguous array each, all of one size.
    """
    return Full(kind, expr, inputs, out_dtype)
