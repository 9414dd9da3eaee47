"""Timers: what a client asks, and the thread of a server that looks after them."""

from __future__ import annotations

import abc
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["RequestQueue", "TimerClient", "TimerRequest", "TimerServer", "configure", "expires"]

logger = logging.getLogger(__name__)


class TimerRequest:
    """A worker's timer for a scope; expiration_time: seconds since 1970, below 0 to let it go."""

    __slots__ = ["expiration_time", "scope_id", "worker_id"]

    def __init__(self, worker_id: Any, scope_id: str, expiration_time: float) -> None:
        self.worker_id, self.scope_id, self.expiration_time = worker_id, scope_id, expiration_time

    def _parts(self) -> tuple[Any, ...]:
        return self.worker_id, self.scope_id, self.expiration_time

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimerRequest) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]  # its parts may change


class TimerClient(abc.ABC):
    """A worker's side: takes timers and lets them go."""

    @abc.abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Set this worker's timer of a scope."""

    @abc.abstractmethod
    def release(self, scope_id: str) -> None:
        """Let the timer of a scope go."""


class RequestQueue(abc.ABC):
    """What the clients asked and the server has not seen."""

    @abc.abstractmethod
    def size(self) -> int:
        """How many requests there are at least."""

    @abc.abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """Up to so many requests, waiting for at most so many seconds."""


class TimerServer(abc.ABC):
    """Looks after timers, in a thread from start() to stop(), and reaps who has exceeded one."""

    def __init__(self, request_queue: RequestQueue, max_interval: float, daemon: bool = True) -> None:
        """max_interval: seconds to wait for requests; daemon: whether the thread ends with the process."""
        super().__init__()
        self._request_queue, self._max_interval, self._daemon = request_queue, max_interval, daemon
        self._watchdog_thread: threading.Thread | None = None
        self._stop_signaled = False

    @abc.abstractmethod
    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Take timers, or let them go."""

    @abc.abstractmethod
    def clear_timers(self, worker_ids: set[Any]) -> None:
        """Forget the timers of these workers."""

    @abc.abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """By worker, the timers that end by the deadline."""

    @abc.abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """End a worker; whether that succeeded. An exception counts as success."""

    def _reap_worker_no_throw(self, worker_id: Any) -> bool:
        try:
            return self._reap_worker(worker_id)
        except Exception:
            logger.exception("_reap_worker() raised: the worker counts as ended")
            return True

    def _watchdog_loop(self) -> None:
        while not self._stop_signaled:
            try:
                self._run_watchdog()
            except Exception:
                logger.exception("Error running watchdog")

    def _run_watchdog(self) -> None:
        """One round: take requests, reap who has exceeded a timer, forget who is gone."""
        waiting = max(1, self._request_queue.size())
        self.register_timers(self._request_queue.get(waiting, self._max_interval))
        reaped = set()
        for worker, expired in self.get_expired_timers(time.time()).items():
            logger.info("Reaping worker_id=[%s]. Expired timers: %s", worker, [r.scope_id for r in expired])
            if self._reap_worker_no_throw(worker):
                reaped.add(worker)
            else:
                logger.error("Error reaping worker=[%s]. Will retry on next watchdog.", worker)
        self.clear_timers(reaped)

    def start(self) -> None:
        """Begin to look after timers."""
        self._watchdog_thread = threading.Thread(target=self._watchdog_loop, daemon=self._daemon)
        self._watchdog_thread.start()

    def stop(self) -> None:
        """End the thread; it is waited for max_interval seconds at most."""
        self._stop_signaled = True
        if self._watchdog_thread is not None:
            self._watchdog_thread.join(self._max_interval)
            self._watchdog_thread = None


_timer_client: TimerClient | None = None


def configure(timer_client: TimerClient | None) -> None:
    """Say which client expires() uses."""
    global _timer_client
    _timer_client = timer_client


@contextmanager
def expires(after: float, scope: str | None = None, client: TimerClient | None = None) -> Iterator[None]:
    """A block that may take so many seconds; then the server may end this worker.

    scope: the timer's name, by default the caller's file and line. RuntimeError without a client.
    """
    client = client or _timer_client
    if client is None:
        raise RuntimeError("Configure timer client before using countdown timers.")
    if scope is None:
        caller = sys._getframe(2)  # 1 is contextlib's
        scope = f"{caller.f_code.co_filename}#{caller.f_lineno}"
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)
