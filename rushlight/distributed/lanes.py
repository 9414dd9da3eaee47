"""Operations under way: one after the other in each group, by the caller or on the group's thread.

An operation is a generator of requests (wire.py): what stands between two of them is work on arrays. All ranks
begin a group's operations in the same order, and whoever waits for one moves it on: a caller that wants its
result runs what is before it, and itself, with no thread in between. MPI's blocking calls are never used: a
request that is tested can be left when another rank has failed.
"""
from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.watch import Watch
from rushlight.distributed.wire import Request

Steps = Iterator[Request]
_abandoned: list[Any] = []      # operations given up: MPI may still write to their arrays


class Operation:
    """One collective or transfer. `number`: which of its group; `note`: dtype and shape, for messages."""

    def __init__(self, lane: Lane, name: str, number: int, steps: Steps, note: Callable[[], str]) -> None:
        self.lane, self.name, self.number, self.steps, self.note = lane, name, number, steps, note
        self.finished = False
        self.error: BaseException | None = None
        self.then: list[Callable[[], None]] = []

    def __str__(self) -> str:
        return f"{self.name} #{self.number} {self.note()}"

    def run(self) -> None:
        """Do it all; what goes wrong is kept in `error`."""
        try:
            for request in self.steps:
                self.lane.settle(self, request)
        except BaseException as error:
            self.error = error
            _abandoned.append(self)
            if not isinstance(error, Exception):
                raise
        finally:
            self.finish()

    def finish(self) -> None:
        """Mark it as over and call who waits."""
        with self.lane.bell:
            self.finished = True
            actions, self.then = self.then, []
            self.lane.bell.notify_all()
        for action in actions:
            action()

    def whenever_over(self, action: Callable[[], None]) -> None:
        """Call the action once this is over, or now."""
        with self.lane.bell:
            if not self.finished:
                self.then.append(action)
                return
        action()


class Lane:
    """The operations of one group, first in first out."""

    def __init__(self, group: str, ranks: list[int], watch: Watch, timeout: float) -> None:
        self.group, self.ranks, self.watch, self.timeout = group, ranks, watch, timeout
        self.number = 0
        self.current: Operation | None = None
        self.bell = threading.Condition()
        self._waiting: deque[Operation] = deque()
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, name: str, steps: Steps, note: Callable[[], str], background: bool) -> Operation:
        """Enter an operation; with `background` the lane's thread runs it if nobody waits for it before."""
        with self.bell:
            self.number += 1
            operation = Operation(self, name, self.number, steps, note)
            self._waiting.append(operation)
            if background:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name=f"rushlight-{self.group}", daemon=True)
                    self._thread.start()
                self.bell.notify_all()
        return operation

    def _work(self) -> None:
        while not self._closed:
            with self.bell:
                while not self._waiting and not self._closed:
                    self.bell.wait()
            with self._running:
                self._next()

    def _next(self) -> None:
        try:
            operation = self._waiting.popleft()
        except IndexError:
            return
        self.current = operation
        try:
            operation.run()
        finally:
            self.current = None

    def finish(self, operation: Operation) -> None:
        """Run everything up to the operation, or wait until the lane's thread has."""
        while not operation.finished:
            with self._running:
                if not operation.finished:
                    self._next()

    def close(self) -> None:
        """Let the thread end."""
        with self.bell:
            self._closed = True
            self.bell.notify_all()

    def settle(self, operation: Operation, request: Request) -> None:
        """Move a request on until it is over: RankFailure, or DistBackendError after the lane's timeout."""
        test, watch = request.Test, self.watch
        for _ in range(20):
            if test():
                return
        begun = time.monotonic()
        while not test():
            if watch.news:
                watch.check(str(operation), self.group, operation.number, self.ranks)
            waited = time.monotonic() - begun
            if waited < 0.002:
                os.sched_yield()
            else:
                time.sleep(0.00005 if waited < 0.1 else 0.0002)
                if waited > self.timeout:
                    raise DistBackendError(self._too_late(operation))

    def _too_late(self, operation: Operation) -> str:
        places = self.watch.places()
        table = "".join(f"\n  rank {rank}: {place}" for rank, place in sorted(places.items()))
        return (f"[rank {self.watch.rank}] {operation} in group {self.group!r} timed out after "
                f"{self.timeout:g} s. Ranks call the same collectives in the same order; where they are:{table}")
