"""How many threads large kernels use, and ufuncs shared out over them.

Who computes a part never decides what is computed: callers cut their work at fixed places, or in
ways that cannot change a result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from rushlight._engine.core.numpy_warnings import restore, straight
from rushlight._engine.core.settings import settings


def _quota() -> float:
    """Processors that the control group grants; infinite where it does not say."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            limit, period = file.read().split()
            return float("inf") if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as quota:
            limit = quota.read()
        with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
            return int(limit) / int(file.read()) if int(limit) > 0 else float("inf")
    except (OSError, ValueError):
        return float("inf")


def processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(count, int(_quota() + 0.5) if _quota() < count else count))


def _usual() -> int:
    """How many threads there are where no setting says it: as many as processors, or as the environment tells
    other libraries.
    """
    most = processors()
    for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS"):  # OpenMP takes a list, a number a level
        asked = os.environ.get(name, "").partition(",")[0].strip()
        if asked.isdecimal() and int(asked):
            return min(int(asked), most)
    return most


class _Count:
    threads = 0


def get_num_threads() -> int:
    """How many threads large kernels use."""
    if not _Count.threads:
        _Count.threads = settings.num_threads or _usual()
    return _Count.threads


def set_num_threads(count: int) -> None:
    """Let large kernels use `count` threads; RuntimeError unless it is positive."""
    if count < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {count}")
    _Count.threads = count


def split(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    cores: Sequence[bool],
    dtypes: Sequence[Any],
    out: Any,
    least: int = 0,
) -> Any:
    """A ufunc applied over threads, each to a range of one axis; results are those of one call.

    least: how many elements are worth that. `cores` says of each operand, results included, whether its last
    axis is the row's own; the others broadcast. `out` is None, an array, or a tuple of them.
    """
    # Here, since threads are woken for large kernels only.
    import numpy as np

    from rushlight._engine.kernels.runtime import team  # it imports this file

    shape, extent = _common(tuple([a.shape for a in arrays]), tuple(cores))
    if out is None:
        results = tuple(
            [
                np.empty(shape + extent if core else shape, d)
                for core, d in zip(cores[len(arrays) :], dtypes, strict=True)
            ]
        )
    else:
        results = out if isinstance(out, tuple) else (out,)
    operands, threads = (*arrays, *results), get_num_threads()
    if (
        threads < 2
        or not shape
        or prod(shape) < least
        or (out is not None and not _writable(np, arrays, results))
    ):
        token = straight()
        try:
            function(*arrays, out=results)
        finally:
            restore(token)
    elif not team.split(function, operands, tuple(cores), shape, threads):
        _by_python(function, operands, cores, shape, len(arrays))
    return results[0] if len(results) == 1 else results


@lru_cache(maxsize=1024)
def _common(shapes: tuple[tuple[int, ...], ...], cores: tuple[bool, ...]) -> tuple[Any, Any]:
    """The broadcast shape of the leading axes, and that of the row."""
    import numpy as np

    own = [s[:-1] if core else s for s, core in zip(shapes, cores, strict=False)]
    extent = next((s[-1:] for s, core in zip(shapes, cores, strict=False) if core), ())
    return np.broadcast_shapes(*own), extent


def _by_python(
    function: Callable[..., Any],
    operands: Sequence[Any],
    cores: Sequence[bool],
    shape: tuple[int, ...],
    reads: int,
) -> None:
    """Ranges of one axis: where lines are too short to be jobs."""
    axis = max(range(len(shape)), key=shape.__getitem__)
    # The first axis keeps threads on pages of their own; a short one could not be shared out.
    if shape[0] >= 4 * get_num_threads():
        axis = 0

    def job(low: int, high: int) -> None:
        parts = [
            _piece(a, core, len(shape), axis, low, high) for a, core in zip(operands, cores, strict=True)
        ]
        function(*parts[:reads], out=tuple(parts[reads:]))

    ranges(job, shape[axis])


def ranges(job: Callable[[int, int], Any], count: int) -> list[Any]:
    """What job(low, high) gives for ranges of a count, each a call in a thread of Python's."""
    from concurrent.futures import ThreadPoolExecutor

    threads = get_num_threads()
    pieces = pieces_for(count, threads)
    cuts = [count * i // pieces for i in range(pieces + 1)]
    if threads not in _executors:
        _executors[threads] = ThreadPoolExecutor(threads, "rushlight-worker")
    # Errors come with the results.
    return list(_executors[threads].map(job, cuts[:-1], cuts[1:]))


_executors: dict[int, Any] = {}
if hasattr(os, "register_at_fork"):
    # In a forked child no worker lives.
    os.register_at_fork(after_in_child=_executors.clear)


def pieces_for(count: int, threads: int) -> int:
    """Into how many pieces an axis is cut, so that a thread that is held up is no loss."""
    return threads * 4 if count >= threads * 16 else threads


def _piece(a: Any, core: bool, axes: int, axis: int, low: int, high: int) -> Any:
    """The range of an operand along an axis of the broadcast shape; all of it if it repeats."""
    own = axis - (axes - (a.ndim - core))
    if own < 0 or a.shape[own] == 1:
        return a
    return a[(slice(None),) * own + (slice(low, high),)]


def _writable(np: Any, arrays: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether results may be written to, and share no memory with an operand other than elementwise."""
    for r in results:
        if not r.flags.writeable:
            return False
        for a in arrays:
            if a.__array_interface__["data"] == r.__array_interface__["data"] and (
                a.shape == r.shape and a.strides == r.strides and a.dtype == r.dtype
            ):
                continue
            if np.may_share_memory(a, r):
                return False
    return True
