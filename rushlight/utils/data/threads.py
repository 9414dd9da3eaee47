"""A pool of worker threads: what worker processes do, in this process, without any copy.

Good for items whose reading waits or leaves the interpreter (files, decoding, NumPy). All share one
dataset; each draws from generators of its own, as `get_worker_info().rng` says.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
import traceback
from typing import Any

from rushlight.utils.data.worker import Job, Worker

_GRACE = 5.0


class Threads:
    """`count` worker threads. Tasks go in by `put`, results come out by `get`."""

    def __init__(self, job: Job, context: Any = None) -> None:
        del context
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tasks: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(job.count)]
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(
                target=_worker_loop,
                args=(job, number, tasks, self._results, self._stopping),
                name=f"DataLoader worker {number}",
                daemon=True,
            )
            for number, tasks in enumerate(self._tasks)
        ]
        for t in self._threads:
            t.start()

    @property
    def members(self) -> list[Any]:
        """The workers' threads."""
        return self._threads

    def put(self, worker: int, message: Any) -> None:
        """Send a message: tasks, "again" or "end"."""
        self._tasks[worker].put(message)

    def get(self, seconds: float, awaited: int) -> list[Any]:
        """Results that have come in within a time; [] where none has. RuntimeError if a worker ended."""
        try:
            found = [self._results.get(timeout=seconds)]
            while not self._results.empty():
                found.append(self._results.get_nowait())
        except queue.Empty:
            return []
        for worker, _, status, data in found:
            if status == "died":
                raise RuntimeError(f"DataLoader worker (thread {worker}) exited unexpectedly") from data
        return found

    def stack(self, worker: int) -> str:
        """Where a worker is in its Python code, as text."""
        frame = sys._current_frames().get(self._threads[worker].ident or -1)
        return "".join(traceback.format_stack(frame)) if frame is not None else "(it has ended)"

    def stop(self) -> None:
        """End all workers when their batch is done; one that takes too long is left behind."""
        self._stopping.set()
        for tasks in self._tasks:
            tasks.put("end")
        deadline = time.monotonic() + _GRACE
        for t in self._threads:
            if t is not threading.current_thread():
                t.join(max(0.0, deadline - time.monotonic()))


def _worker_loop(
    job: Job,
    number: int,
    tasks: queue.SimpleQueue[Any],
    results: queue.SimpleQueue[Any],
    stopping: threading.Event,
) -> None:
    try:
        worker = Worker(job, number, "thread")
        while (message := tasks.get()) != "end":
            if message == "again":
                worker.again()
                continue
            for task, index in message:
                answer = None if stopping.is_set() else worker.answer(index)
                if answer is not None:
                    status, data = answer
                    results.put((number, task, status, (lambda d=data: d) if status == "data" else data))
                    del answer, data
    except BaseException as error:
        results.put((number, -1, "died", error))
