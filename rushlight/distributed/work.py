"""Handles of operations under way: Work, and the Future that it gives."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rushlight.distributed.errors import DistBackendError
from rushlight.distributed.lanes import Operation


class Future:
    """A value that comes later. `wait()` gives it, or raises what went wrong."""

    def __init__(self, *, devices: Any = None) -> None:
        self._bell = threading.Condition()
        self._done, self._value, self._error = False, None, None
        self._callbacks: list[Callable[[Future], Any]] = []
        self._help: Callable[[], Any] | None = None     # moves on what the value comes from

    def done(self) -> bool:
        """Whether it has come."""
        return self._done

    def wait(self) -> Any:
        """Wait for it; the value."""
        if self._help is not None:
            self._help()
        with self._bell:
            self._bell.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The value, which must have come."""
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Let it come."""
        self._settle(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let an exception come instead."""
        self._settle(None, result)

    def _settle(self, value: Any, error: Any) -> None:
        with self._bell:
            if self._done:
                raise RuntimeError("Future can only be set once")
            self._value, self._error, self._done = value, error, True
            self._bell.notify_all()
        for callback in self._callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(self)` once it has come, or now."""
        with self._bell:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of `callback(self)`."""
        after = Future()
        after._help = self._help

        def run(done: Future) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(run)
        return after


class Work:
    """An operation under way. After `wait()` its results may be read."""

    def __init__(self, operation: Operation, result: list[Any]) -> None:
        self._operation, self._result = operation, result

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait for the end (of one with a timeout so long only); True. Raises what went wrong."""
        operation = self._operation
        if timeout:
            end = time.monotonic() + timeout.total_seconds()
            with operation.lane.bell:
                over = operation.lane.bell.wait_for(lambda: operation.finished, end - time.monotonic())
            if not over:
                raise DistBackendError(f"{operation} timed out after {timeout.total_seconds() * 1000:.0f}ms")
        else:
            operation.lane.finish(operation)
        if operation.error is not None:
            raise operation.error
        return True

    def is_completed(self) -> bool:
        """Whether it is over."""
        return self._operation.lane.poll(self._operation)

    def is_success(self) -> bool:
        """Whether it is over and nothing went wrong."""
        return self._operation.finished and self._operation.error is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        return self._operation.error

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._result

    def synchronize(self) -> None:
        """wait()."""
        self.wait()

    def get_future(self) -> Future:
        """The future of result()."""
        future = Future()
        future._help = lambda: self._operation.lane.finish(self._operation)

        def settle() -> None:
            if self._operation.error is not None:
                future.set_exception(self._operation.error)
            else:
                future.set_result(self._result)

        self._operation.whenever_over(settle)
        return future
