"""Threads for large kernels: parked between jobs, one of the parts run by the caller.

Who computes a part never decides what is computed: callers cut their work at fixed places, or in
ways that cannot change a result.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
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
    import numpy as np

    leading = [a.shape[:-1] if core else a.shape for a, core in zip(arrays, cores, strict=False)]
    shape = np.broadcast_shapes(*leading)
    if out is None:
        extent = next((a.shape[-1:] for a, core in zip(arrays, cores, strict=False) if core), ())
        results = tuple(np.empty(shape + (extent if core else ()), d)
                        for core, d in zip(cores[len(arrays):], dtypes, strict=True))
    else:
        results = out if isinstance(out, tuple) else (out,)
    answer = results[0] if len(results) == 1 else results
    operands = (*arrays, *results)
    threads = get_num_threads()
    axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    # The first axis keeps threads on pages of their own; a short one could not be shared out.
    if shape and shape[0] >= 4 * threads:
        axis = 0
    if threads < 2 or not shape or shape[axis] < 2 or _overlapping(np, arrays, results):
        function(*arrays, out=results)
        return answer
    pieces = threads * 4 if shape[axis] >= threads * 16 else threads
    cuts = [shape[axis] * i // pieces for i in range(pieces + 1)]

    def job(low: int, high: int) -> Callable[[], Any]:
        parts = [_piece(a, core, len(shape), axis, low, high)
                 for a, core in zip(operands, cores, strict=True)]
        return lambda: function(*parts[:len(arrays)], out=tuple(parts[len(arrays):]))

    run([job(a, b) for a, b in zip(cuts, cuts[1:], strict=False) if b > a])
    return answer


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
