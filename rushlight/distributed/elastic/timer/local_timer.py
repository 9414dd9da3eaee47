"""Timers of the processes of one machine, over a queue of multiprocessing."""

from __future__ import annotations

import logging
import os
import signal
import time
from queue import Empty
from typing import Any

from rushlight.distributed.elastic.timer.api import RequestQueue, TimerClient, TimerRequest, TimerServer

__all__ = ["LocalTimerClient", "LocalTimerServer", "MultiprocessingRequestQueue"]

logger = logging.getLogger(__name__)


class LocalTimerClient(TimerClient):
    """The side of a process that LocalTimerServer looks after, by its pid."""

    def __init__(self, mp_queue: Any) -> None:
        super().__init__()
        self._mp_queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set this process's timer of a scope."""
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        """Let the timer of a scope go."""
        self._mp_queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """Requests in a queue of multiprocessing."""

    def __init__(self, mp_queue: Any) -> None:
        super().__init__()
        self._mp_queue = mp_queue

    def size(self) -> int:
        """How many requests there are about now."""
        return int(self._mp_queue.qsize())

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """Up to so many requests, waiting for at most so many seconds in all."""
        end = time.monotonic() + timeout
        found: list[TimerRequest] = []
        while len(found) < size:
            left = end - time.monotonic()
            if found and left <= 0:
                break
            try:
                found.append(self._mp_queue.get(timeout=max(left, 0)))
            except Empty:
                break
        return found


class LocalTimerServer(TimerServer):
    """Kills processes of this machine that exceed a timer; one for each machine of a run."""

    def __init__(self, mp_queue: Any, max_interval: float = 60, daemon: bool = True) -> None:
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)
        self._timers: dict[tuple[Any, str], TimerRequest] = {}

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Take timers, or let them go."""
        for request in timer_requests:
            take(self._timers, request.worker_id, request)

    def clear_timers(self, worker_ids: set[Any]) -> None:
        """Forget the timers of these processes."""
        for key in [key for key in self._timers if key[0] in worker_ids]:
            del self._timers[key]

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """By pid, the timers that end by the deadline."""
        return expired(self._timers, deadline)

    def _reap_worker(self, worker_id: Any) -> bool:
        return end_process(worker_id, signal.SIGKILL)


def take(timers: dict[tuple[Any, str], Any], worker: Any, request: Any) -> None:
    """Put a request among the timers of its worker and scope; one that ends before 0 lets the timer go."""
    key = worker, request.scope_id
    if request.expiration_time < 0:
        timers.pop(key, None)
    else:
        timers[key] = request


def expired(timers: dict[tuple[Any, str], Any], deadline: float) -> dict[Any, list[Any]]:
    """By worker, the timers that end by the deadline."""
    found: dict[Any, list[Any]] = {}
    for (worker, _), request in timers.items():
        if request.expiration_time <= deadline:
            found.setdefault(worker, []).append(request)
    return found


def end_process(pid: int, number: int) -> bool:
    """Send a signal to a process; whether it was sent, or the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        logger.info("Process with pid=%s does not exist. Skipping", pid)
    except Exception:
        logger.exception("Error terminating pid=%s", pid)
        return False
    return True
