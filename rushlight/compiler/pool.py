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
    for error in errors:
        if error is not None:
            raise error


def _forget() -> None:
    """In a forked child no worker lives."""
    _pool.workers, _pool.busy = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
