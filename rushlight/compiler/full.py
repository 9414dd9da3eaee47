"""Full reductions: all elements of contiguous arrays, mapped and combined in one pass.

Long arrays are reduced in chunks of fixed size, over threads, and the chunks' results combined in
order: the same bits for any number of threads.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.quiet import hush, restore
from rushlight.compiler import pool, team
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
        partials = np.empty(-(-n // CHUNK), dt.BY_NAME[self.partial].np)
        if not (self.kernel.ready and self._by_team(flat, partials)):
            self._by_numpy(flat, partials)
        token = hush()
        try:
            return np.asarray(self.combine.reduce(partials, dtype=self._wide)).astype(self.out)
        finally:
            restore(token)

    def _by_team(self, flat: list[Any], partials: Any) -> bool:
        offsets, steps = _plan(flat[0].size, tuple([a.itemsize for a in (*flat, partials)]),
                               pool.get_num_threads())
        operands = (*flat, partials)
        return team.run(self.kernel.fn, team.placed(offsets, operands), len(operands), steps,
                        pool.get_num_threads())

    def _by_numpy(self, flat: list[Any], partials: Any) -> None:
        whole = flat[0].size // CHUNK
        self.kernel.large(*[f[:whole * CHUNK].reshape(whole, CHUNK) for f in flat], out=partials[:whole])
        if whole < len(partials):
            self.kernel(*[f[None, whole * CHUNK:] for f in flat], out=partials[whole:])


@lru_cache(maxsize=1024)
def _plan(n: int, sizes: tuple[int, ...], threads: int) -> tuple[Any, Any]:
    """Jobs, relative to the operands' starts, and the steps; `sizes` of the items, result last."""
    whole = n // CHUNK
    pieces = pool.pieces_for(whole, threads)
    cuts = [whole * i // pieces for i in range(pieces + 1)]
    spans = [(low, high - low, CHUNK) for low, high in zip(cuts, cuts[1:], strict=False) if high > low]
    if n % CHUNK:
        spans.append((whole, 1, n % CHUNK))
    steps = [*(CHUNK * size for size in sizes[:-1]), sizes[-1]]
    jobs = [[*(start * step for step in steps), count, extent] for start, count, extent in spans]
    return np.array(jobs, np.int64), np.array([*steps, *sizes[:-1]], np.int64)


@lru_cache(maxsize=None)
def full(kind: str, expr: Expr, inputs: FullInputs, out_dtype: str) -> Full:
    """The reduction `kind` ("add", "mul", "max", "min", "any", "all") of an expression, kept.

    `inputs` are (name, dtype name); call it with one contiguous array each, all of one size.
    """
    return Full(kind, expr, inputs, out_dtype)
