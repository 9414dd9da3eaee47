"""Threads for large kernels: parked between jobs, one of the parts run by the caller.

Who computes a part never decides what is computed: callers cut their work at fixed places, or in
ways that cannot change a result.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rushlight.base.config import knobs


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


class _Worker:
    """A parked thread: `give` it a job, then `join` it for the error, if any."""

    def __init__(self) -> None:
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._job: Callable[[], Any] = lambda: None
        self._error: BaseException | None = None
        threading.Thread(target=self._live, name="rushlight-worker", daemon=True).start()

    def _live(self) -> None:
        while True:
            self._go.acquire()
            try:
                self._job()
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                self._error = error
            self._done.release()

    def give(self, job: Callable[[], Any]) -> None:
        self._job = job
        self._go.release()

    def join(self) -> BaseException | None:
        self._done.acquire()
        error, self._error = self._error, None
        return error


class _Pool:
    def __init__(self) -> None:
        self.workers: list[_Worker] = []
        self.busy = threading.Lock()
        self.count = 0


_pool = _Pool()


def get_num_threads() -> int:
    """How many threads large kernels use."""
    if not _pool.count:
        _pool.count = knobs.num_threads or processors()
    return _pool.count


def set_num_threads(count: int) -> None:
    """Let large kernels use `count` threads; RuntimeError unless it is positive."""
    if count < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {count}")
    _pool.count = count


def run(jobs: Sequence[Callable[[], Any]]) -> None:
    """Run all jobs, in as many threads as there are; the first error is raised when all ended.

    Called from several threads at once, or from within a job, it runs them one after another.
    """
    threads = min(get_num_threads(), len(jobs))
    if threads < 2 or not _pool.busy.acquire(blocking=False):
        for job in jobs:
            job()
        return
    try:
        _run(jobs, threads)
    finally:
        _pool.busy.release()


def _run(jobs: Sequence[Callable[[], Any]], threads: int) -> None:
    while len(_pool.workers) < threads - 1:
        _pool.workers.append(_Worker())
    parts = iter(jobs)

    def drain() -> None:
        # The iterator is shared: next() is atomic, so that each job is taken once.
        for job in parts:
            job()

    helpers = _pool.workers[:threads - 1]
    for worker in helpers:
        worker.give(drain)
    errors: list[BaseException | None] = []
    try:
        drain()
    except BaseException as error:  # noqa: BLE001 - raised below, when the others ended
        errors.append(error)
    errors += [worker.join() for worker in helpers]
    for found in errors:
        if found is not None:
            raise found


def _forget() -> None:
    """In a forked child no worker lives."""
    _pool.workers, _pool.busy = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def split(function: Callable[..., Any], arrays: Sequence[Any], cores: Sequence[bool],
          dtypes: Sequence[Any], out: Any) -> Any:
    """A ufunc applied over threads, each to a range of one axis; results are those of one call.

    `cores` says of each operand, results included, whether its last axis is the row's own; the
    others broadcast. `out` is None, an array, or a tuple of them.
    """
    # Here, since threads are woken for large kernels only.
    import numpy as np

    from rushlight.compiler import team

    shape, extent = _common(tuple([a.shape for a in arrays]), tuple(cores))
    if out is None:
        results = tuple([np.empty(shape + extent if core else shape, d)
                         for core, d in zip(cores[len(arrays):], dtypes, strict=True)])
    else:
        results = out if isinstance(out, tuple) else (out,)
    operands, threads = (*arrays, *results), get_num_threads()
    if threads < 2 or not shape or out is not None and _overlapping(np, arrays, results):
        function(*arrays, out=results)
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


def _by_python(function: Callable[..., Any], operands: Sequence[Any], cores: Sequence[bool],
               shape: tuple[int, ...], reads: int) -> None:
    """Ranges of one axis, each a call of the ufunc in a thread of Python's."""
    threads = get_num_threads()
    axis = max(range(len(shape)), key=shape.__getitem__)
    # The first axis keeps threads on pages of their own; a short one could not be shared out.
    if shape[0] >= 4 * threads:
        axis = 0
    pieces = pieces_for(shape[axis], threads)
    cuts = [shape[axis] * i // pieces for i in range(pieces + 1)]

    def job(low: int, high: int) -> Callable[[], Any]:
        parts = [_piece(a, core, len(shape), axis, low, high)
                 for a, core in zip(operands, cores, strict=True)]
        return lambda: function(*parts[:reads], out=tuple(parts[reads:]))

    run([job(a, b) for a, b in zip(cuts, cuts[1:], strict=False) if b > a])


def pieces_for(count: int, threads: int) -> int:
    """Into how many pieces an axis is cut, so that a thread that is held up is no loss."""
    return threads * 4 if count >= threads * 16 else threads


def _piece(a: Any, core: bool, axes: int, axis: int, low: int, high: int) -> Any:
    """The range of an operand along an axis of the broadcast shape; all of it if it repeats."""
    own = axis - (axes - (a.ndim - core))
    if own < 0 or a.shape[own] == 1:
        return a
    return a[(slice(None),) * own + (slice(low, high),)]


def _overlapping(np: Any, arrays: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether a result shares memory with an operand other than elementwise."""
    for r in results:
        for a in arrays:
            if a.__array_interface__["data"] == r.__array_interface__["data"] and (
                    a.shape == r.shape and a.strides == r.strides and a.dtype == r.dtype):
                continue
            if np.may_share_memory(a, r):
                return True
    return False
