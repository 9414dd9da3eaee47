"""What NCCL has under way: Work, the Future that it gives, and the thread that looks after both.

An operation is done when its stream has come to it. Waiting lets the current stream wait, not the program.
The watchdog asks, from time to time, whether ranks have failed, NCCL tells of an error, or an operation takes
longer than its group's timeout; then it aborts the group's communicators, and every later operation, and
every later use of the device, raises what went wrong.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.communication.work import Future, Work
from rushlight.distributed.errors import DistBackendError

INTERVAL = 0.1  # seconds between two looks of the watchdog


@contextmanager
def used(device: Any, queue: Any) -> Iterator[None]:
    """A `with` block in which this thread's work on a device goes to a stream."""
    before = device.stream
    device.use(queue)
    try:
        yield
    finally:
        device.use(before)


class _Stream:
    """A stream as the allocator is told of it."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue


def hold(device: Any, tensors: Any, queue: Any) -> None:
    """Keep the tensors' memory from being handed out again before a stream is through with it."""
    for tensor in tensors:
        if isinstance(tensor, Tensor) and tensor.is_cuda:
            device.record_stream(tensor.detach()._array, _Stream(queue))


def _all(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Begun(NamedTuple):
    """What the watchdog knows of an operation: nothing of its tensors, which may go before it looks."""

    mark: Any
    name: str
    number: int
    begun: float
    limit: float


class NcclWork(Work):
    """An operation of NCCL under way. After `wait()` the current stream may use its results."""

    def __init__(
        self, owner: Any, name: str, number: int, queue: Any, result: list[Any], limit: float
    ) -> None:
        self.owner, self.name, self.number = owner, name, number
        self.queue, self._result = queue, result
        self.limit, self.begun = limit, time.monotonic()
        self.mark = queue.mark()

    def __str__(self) -> str:
        return f"{self.name} #{self.number}"

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Let the current stream wait for the end; True. With a timeout, or TORCH_NCCL_BLOCKING_WAIT=1, the
        program waits. Raises what went wrong; DistBackendError after the timeout.
        """
        self.owner.alive()
        if timeout or os.environ.get("TORCH_NCCL_BLOCKING_WAIT") == "1":
            self._wait(timeout.total_seconds() or self.limit)
        device = self.queue.device
        device.stream.wait_for(self.mark)
        return True

    def _wait(self, seconds: float) -> None:
        if (capture := self.queue.device.capture) is not None:
            raise capture.refused(f"{self.name}, which the host waits for")
        end = time.monotonic() + seconds
        while not self.is_completed():
            self.owner.alive()
            if time.monotonic() > end:
                raise DistBackendError(
                    f"[rank {self.owner.group.rank()}] {self} timed out: it ran for {seconds * 1000:.0f} "
                    "milliseconds before timing out."
                )
            time.sleep(0.0002)
        self.owner.alive()

    def finish(self) -> None:
        """Wait for the end, as barrier() does."""
        self.wait()
        self._wait(self.limit)

    def is_completed(self) -> bool:
        """Whether the device has done it, or it was given up."""
        return self.owner.error is not None or bool(self.mark.advance())

    def is_success(self) -> bool:
        """Whether the device has done it and nothing went wrong."""
        return self.owner.error is None and bool(self.mark.advance())

    def exception(self) -> BaseException | None:
        """What went wrong with the group."""
        error: BaseException | None = self.owner.error
        return error

    def get_future(self) -> Future:
        """The future of result()."""
        return NcclFuture(self.owner, self.mark, self._result)


class NcclFuture(Future):
    """A value whose memory is ready when a stream has come to a mark."""

    def __init__(self, owner: Any, mark: Any, value: Any) -> None:
        super().__init__()
        self._owner, self._mark = owner, mark
        self._help = self._join
        self.set_result(value)

    def _join(self) -> None:
        """Let the current stream wait for it, and use it."""
        self._owner.alive()
        device = self._mark.stream.device
        device.stream.wait_for(self._mark)
        hold(device, _all(self.result()), device.stream)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of `callback(self)`, whose work goes to a stream of its own, after this one's."""
        device = self._mark.stream.device
        queue = device.new_stream()
        queue.wait_for(self._mark)
        with used(device, queue):
            hold(device, _all(self.result()), queue)
            try:
                value = callback(self)
            except Exception as error:
                failed = Future()
                failed.set_exception(error)
                return failed
        return NcclFuture(self._owner, queue.mark(), value)


class Watchdog:
    """The thread that looks after the groups that NCCL serves; it holds none of them alive."""

    def __init__(self) -> None:
        self._owners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()  # of _owners
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def add(self, owner: Any) -> None:
        """Look after a group's operations from now on."""
        if self._pid != os.getpid():  # in a fork nobody would open the lock
            self._pid, self._thread, self._lock = os.getpid(), None, threading.Lock()
        with self._lock:
            self._owners.add(owner)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="rushlight-nccl", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            time.sleep(INTERVAL)
            self._look()

    def owners(self) -> list[Any]:
        """The groups that are looked after."""
        with self._lock:
            return list(self._owners)

    def _look(self) -> None:
        for owner in self.owners():
            with suppress(Exception):  # one group's failure is not the others'
                owner.look()


watchdog = Watchdog()
