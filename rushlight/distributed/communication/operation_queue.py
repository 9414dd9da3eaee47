"""Operations under way: one after the other in each group, by the caller or on the group's thread.

An operation is a generator of requests (wire.py): what stands between two of them is work on arrays. All
ranks begin a group's operations in the same order, and whoever waits for one moves it on: a caller that wants
its result runs what is before it, and itself, with no thread in between. MPI's blocking calls are never used:
a request that is tested can be left when another rank has failed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import chain
from typing import Any

from rushlight.distributed.communication.wire import Request
from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.hub.watch import Watch

Steps = Iterator[Request]
_abandoned: list[Any] = []  # operations given up: MPI may still write to their arrays


class Operation:
    """One collective or transfer. `number`: which of its group; `note`: dtype and shape, for messages."""

    def __init__(
        self, queue: OperationQueue, name: str, number: int, steps: Steps, note: Callable[[], str]
    ) -> None:
        self.queue, self.name, self.number, self.steps, self.note = queue, name, number, steps, note
        self.ranks, self.patience = queue.ranks, 0.0  # who takes part; how long one may have left
        self.timeout, self.eager = queue.timeout, 0.002  # for how long it is tested without sleeping
        self.finished = False
        self.error: BaseException | None = None
        self.then: list[Callable[[], None]] = []
        self.request: Request | None = None  # a transfer's, which is begun at once

    def __str__(self) -> str:
        return f"{self.name} #{self.number} {self.note()}"

    def run(self) -> None:
        """Do it all; what goes wrong is kept in `error`."""
        try:
            for request in self.steps:
                self.queue.settle(self, request)
        except Exception as error:
            self.error = self.queue.explained(self, error)
            _abandoned.append(self)
        except BaseException as error:
            self.error = error
            _abandoned.append(self)
            raise
        finally:
            self.finish()

    def finish(self) -> None:
        """Mark it as over and call who waits."""
        with self.queue.bell:
            self.finished = True
            actions, self.then = self.then, []
            self.queue.bell.notify_all()
        for action in actions:
            action()

    def whenever_over(self, action: Callable[[], None]) -> None:
        """Call the action once this is over, or now."""
        with self.queue.bell:
            if not self.finished:
                self.then.append(action)
                return
        action()


class OperationQueue:
    """The operations of one group, first in first out."""

    def __init__(self, group: str, ranks: list[int], watch: Watch, timeout: float) -> None:
        self.group, self.ranks, self.watch, self.timeout = group, ranks, watch, timeout
        self.number = 0
        self.current: Operation | None = None
        self.last = "nothing"
        self.bell = threading.Condition()
        self._waiting: deque[Operation] = deque()
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(
        self,
        name: str,
        steps: Steps,
        note: Callable[[], str],
        background: bool,
        timeout: timedelta | None = None,
        told: Callable[[], None] | None = None,
    ) -> Operation:
        """Enter an operation; with `background` the queue's thread runs it if nobody waits for it before."""
        with self.bell:
            self.number += 1
            operation = Operation(self, name, self.number, steps, note)
            if timeout is not None:
                operation.timeout = timeout.total_seconds()
            if told is not None:
                operation.then.append(told)
            self._waiting.append(operation)
            if background:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, daemon=True)
                    self._thread.start()
                self.bell.notify_all()
        return operation

    def _work(self) -> None:
        while not self._closed:
            with self.bell:
                while not self._waiting and not self._closed:
                    self.bell.wait()
            with self._running:
                self._next(0.0)  # the main thread has better to do than to wait for Python's lock

    def _next(self, eager: float = 0.002) -> None:
        try:
            operation = self._waiting.popleft()
        except IndexError:
            return
        self.current, operation.eager = operation, eager
        try:
            operation.run()
        finally:
            self.current, self.last = None, f"{operation.name} #{operation.number}"

    def finish(self, operation: Operation) -> None:
        """Run everything up to the operation, or wait until the queue's thread has."""
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
        """Move a request on until it is over: RankFailure, or DistBackendError after the queue's timeout."""
        test, watch = request.Test, self.watch
        for _ in range(20):
            if test():
                return
        begun = time.monotonic()
        while not test():
            waited = time.monotonic() - begun
            if watch.news:
                watch.check(
                    str(operation),
                    self.group,
                    operation.number,
                    operation.ranks if waited >= operation.patience else [],
                )
            if waited < operation.eager:
                os.sched_yield()
            else:
                time.sleep(0.00005 if waited < 0.1 else 0.0002)
                if waited > operation.timeout:
                    raise DistBackendError(self._too_late(operation))

    def explained(self, operation: Operation, error: Exception) -> Exception:
        """What to raise for an error: MPI's own are often how a rank's failure shows first."""
        if type(error).__module__ != "mpi4py.MPI":
            return error
        try:
            for _ in range(100):
                if self.watch.failed is not None:
                    self.watch.check(str(operation), self.group, operation.number, [])
                time.sleep(0.01)
        except DistBackendError as failure:
            return failure
        return DistBackendError(f"[rank {self.watch.rank}] {operation} failed: {error}")

    def poll(self, operation: Operation) -> bool:
        """Whether the operation is over."""
        return operation.finished

    def _too_late(self, operation: Operation) -> str:
        places = self.watch.places()
        table = "".join(f"\n  rank {rank}: {place}" for rank, place in sorted(places.items()))
        return (
            f"[rank {self.watch.rank}] {operation} in group {self.group!r} timed out after "
            f"{operation.timeout:g} s. Ranks must call the same collectives in the same order; where "
            f"they are:{table}"
        )


class Transfers(OperationQueue):
    """Sending and receiving between two ranks: begun at once, in no order, moved on by who waits."""

    def submit(
        self,
        name: str,
        steps: Steps,
        note: Callable[[], str],
        background: bool,
        timeout: timedelta | None = None,
        told: Callable[[], None] | None = None,
    ) -> Operation:
        """Begin a transfer."""
        self.number += 1
        operation = Operation(self, name, self.number, steps, note)
        operation.request = next(steps)
        operation.steps = chain([operation.request], steps)
        if told is not None:
            operation.then.append(told)
        operation.patience = 1.0  # what was sent before its sender left is still on its way
        return operation

    def finish(self, operation: Operation) -> None:
        """Wait for the transfer."""
        if operation.finished:  # also where what follows it asks, which is called under the lock
            return
        with self._running:
            if not operation.finished:
                operation.run()

    def poll(self, operation: Operation) -> bool:
        """Whether the transfer is over; also moves it on."""
        if not operation.finished and operation.request is not None and operation.request.Test():
            operation.run()
        return operation.finished
