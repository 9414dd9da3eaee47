"""Full reductions: all elements of contiguous arrays, mapped and combined in one pass.

Long arrays are reduced in chunks of fixed size, over threads, and the chunks' results combined in
order: the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.numpy_warnings import hush, restore
from rushlight._engine.derive.reference import COMBINE
from rushlight._engine.kernels.loops.rows import Rows, rows
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.numerics.ufunc import LOOPS
from rushlight._engine.ops.expressions import Expr
from rushlight._engine.ops.row_expressions import reduce_

CHUNK = 1 << 15
FullInputs = tuple[tuple[str, str], ...]


class FullReduction:
    """The reduction `kind` ("add", "mul", "max", "min", "any", "all") of an expression.

    `inputs` are (name, dtype name); call it with one contiguous array each, all of one size.
    """

    def __init__(self, kind: str, expr: Expr, inputs: FullInputs, out_dtype: str, lanes: int = 0) -> None:
        self.kind, self.combine = kind, COMBINE[kind]
        root = reduce_(kind, expr)
        roles = tuple((n, d, "vector") for n, d in inputs)
        probe = rows((root,), roles, (out_dtype,))
        # Chunks' results are kept as they were computed; the last step rounds.
        self.partial = "bool" if kind in ("any", "all") else dt.opmath(dt.BY_NAME[probe.work]).name
        self.kernel: Rows = rows((root,), roles, (self.partial,), lanes)
        self.out = dt.BY_NAME[out_dtype].np
        self._wide = np.float64 if self.partial == "float32" and kind in ("add", "mul") else None
        self._few = _added if self._wide and kind == "add" and out_dtype == "float32" else None

    def __call__(self, *arrays: Any) -> Any:
        """The result, an array without axes; arrays are contiguous and of one size."""
        return self.plan(arrays[0].size)(*arrays)

    def plan(self, n: int) -> Callable[..., Any]:
        """What `__call__` does for arrays of `n` elements."""
        if n <= CHUNK:
            return lambda *arrays: np.asarray(self.kernel(*[a.reshape(-1) for a in arrays])).astype(
                self.out, copy=False
            )

        calls: dict[int, team.Call] = {}  # by the number of threads
        of, count = dt.BY_NAME[self.partial].np, -(-n // CHUNK)

        def run(*arrays: Any) -> Any:
            threads = parallel.get_num_threads()
            call = calls.get(threads)
            if call is not None:
                partials = np.empty(count, of)
                if threads < 2 and call.small:
                    call.run(*arrays, partials)
                else:
                    call(threads, *arrays, partials)
            elif (self.kernel.ready or self.kernel.decide(arrays)) and team.possible():
                calls[threads], threads, partials = self.chunks(n)
                calls[threads](threads, *arrays, partials)
            else:
                partials = self._partials(n)
                self._by_numpy([a.reshape(-1) for a in arrays], partials)
            return self._folded(partials)

        return run

    def _partials(self, n: int) -> Any:
        return np.empty(-(-n // CHUNK), dt.BY_NAME[self.partial].np)

    def chunks(self, n: int) -> tuple[team.Call, int, Any]:
        """What reduces each chunk of arrays of n elements by machine code, in how many threads, and where the
        results will be.
        """
        partials, threads = self._partials(n), parallel.get_num_threads()
        sizes = tuple([dt.BY_NAME[d].itemsize for _, d in self.kernel.inputs] + [partials.itemsize])
        loop = LOOPS[self.kernel.fn]  # type: ignore[index]
        return _call(loop, n, sizes, threads), threads, partials

    def _folded(self, partials: Any) -> Any:
        if self._few is not None and len(partials) <= _FEW:
            total = self._few(partials.tolist())
            if -_LARGEST < total < _LARGEST:
                return np.array(total, self.out)
        token = hush()
        try:
            return np.asarray(self.combine.reduce(partials, None, self._wide), self.out)
        finally:
            restore(token)

    def _by_numpy(self, flat: list[Any], partials: Any) -> None:
        whole = flat[0].size // CHUNK
        self.kernel.large(*[f[: whole * CHUNK].reshape(whole, CHUNK) for f in flat], out=partials[:whole])
        if whole < len(partials):
            self.kernel(*[f[None, whole * CHUNK :] for f in flat], out=partials[whole:])


# Up to so many results NumPy adds one after the other; a total that is no finite float32 is left to it.
_FEW, _LARGEST = 7, 3e38


def _added(numbers: list[float]) -> float:
    """The sum in NumPy's order, in float64. (Python's own sum is another: it carries what is rounded off.)"""
    total = 0.0
    for number in numbers:
        total += number
    return total


@lru_cache(maxsize=1024)
def _call(loop: int, n: int, sizes: tuple[int, ...], threads: int) -> team.Call:
    """A row kernel's loop over chunks of n elements; `sizes` of the items, result last."""
    whole = n // CHUNK
    pieces = min(whole, 16 * threads)
    cuts = [whole * i // pieces for i in range(pieces + 1)]
    spans = [(low, high - low, CHUNK) for low, high in zip(cuts, cuts[1:], strict=False) if high > low]
    if n % CHUNK:
        spans.append((whole, 1, n % CHUNK))
    steps = [*(CHUNK * size for size in sizes[:-1]), sizes[-1]]
    jobs = [[*(start * step for step in steps), count, extent] for start, count, extent in spans]
    k, given = len(sizes), np.array([*steps, *sizes[:-1]], np.int64)
    return team.Call(team.CallStage(loop, np.array(jobs, np.int64), range(k), k, given))


# The reduction, kept.
full = lru_cache(maxsize=None)(FullReduction)
