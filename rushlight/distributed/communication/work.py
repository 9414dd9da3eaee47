"""Handles of operations under way: Work, and the Future that it gives."""

from __future__ import annotations

import concurrent.futures
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rushlight.distributed.communication.operation_queue import Operation
from rushlight.distributed.errors import DistBackendError


class Future(concurrent.futures.Future[Any]):
    """A value that comes later. `wait()` gives it, or raises what went wrong. Made done by set_result()."""

    def __init__(self, *, devices: Any = None) -> None:
        super().__init__()
        self._help: Callable[[], Any] = lambda: None  # moves on what the value comes from

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def wait(self) -> Any:
        """Wait for it; the value."""
        self._help()
        return self.result()

    def value(self) -> Any:
        """The value, which must have come: RuntimeError before."""
        if not self.done():
            raise RuntimeError("value() of a Future that is not completed; wait() waits for it")
        return self.result()

    def set_result(self, result: Any) -> None:
        """Give it its value; RuntimeError where it has one, or an exception."""
        with _once():
            super().set_result(result)

    def set_exception(self, result: Any) -> None:
        """Let wait() and value() raise an exception; RuntimeError where it has a value, or an exception."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        with _once():
            super().set_exception(result)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of `callback(self)`; what that raises is told by a RuntimeError."""
        _check_callback("then", callback)
        after = Future()
        after._help = self._help

        def run(done: Any) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(told(error, "Got the following error when running the callback: "))

        self.add_done_callback(run)
        return after


def _check_callback(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(
            f"{name}(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (self: torch.futures.Future, arg0: Callable) -> torch.futures.Future\n\n"
            f"Invoked with: {callback!r}"
        )


@contextmanager
def _once() -> Iterator[None]:
    try:
        yield
    except concurrent.futures.InvalidStateError:
        raise RuntimeError(
            "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
            "completed once."
        ) from None


def told(error: BaseException, before: str = "") -> RuntimeError:
    """What went wrong in words, after some others: the innermost call first."""
    frames = reversed(traceback.extract_tb(error.__traceback__)[1:])
    where = "".join(f"  {frame.filename}({frame.lineno}): {frame.name}\n" for frame in frames)
    text = f"{before}{type(error).__name__}: {error}"
    found = RuntimeError(f"{text}\n\nAt:\n{where}" if where else text)
    found.__cause__ = error
    return found


def collect_all(futures: list[Future]) -> Future:
    """A future of the list itself, which comes when all of them are done."""
    found, left, lock = Future(), len(futures), threading.Lock()
    if any(one is None for one in futures):
        raise RuntimeError("Future can't be None")

    def done(one: Any) -> None:
        nonlocal left
        with lock:  # they come in any threads
            left -= 1
            last = not left
        if last:
            found._help()  # of values on a device, whose streams are to be waited for
            error = next((e for one in futures if (e := one.exception())), None)
            found.set_exception(error) if error else found.set_result(futures)

    found._help = lambda: [one._help() for one in futures]
    for one in futures:
        one.add_done_callback(done)
    if not futures:
        found.set_result(futures)
    return found


def wait_all(futures: list[Future]) -> list[Any]:
    """The values of all; raises what went wrong with one."""
    return [one.wait() for one in collect_all(futures).wait()]


class Work:
    """An operation under way. After `wait()` its results may be read.

    Classes of a program's own process groups derive theirs from it: they have no operation of this package,
    and override what they can answer, wait() and get_future() above all.
    """

    _operation: Any

    def __init__(self, operation: Operation | None = None, result: list[Any] | None = None) -> None:
        self._operation, self._result = operation or _NoOperation(), result or []

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait for the end (of one with a timeout so long only); True. Raises what went wrong."""
        operation = self._operation
        if timeout:
            end = time.monotonic() + timeout.total_seconds()
            with operation.queue.bell:
                over = operation.queue.bell.wait_for(lambda: operation.finished, end - time.monotonic())
            if not over:
                raise DistBackendError(f"{operation} timed out after {timeout.total_seconds() * 1000:.0f}ms")
        else:
            operation.queue.finish(operation)
        if operation.error is not None:
            raise operation.error
        return True

    def is_completed(self) -> bool:
        """Whether it is over."""
        return bool(self._operation.queue.poll(self._operation))

    def is_success(self) -> bool:
        """Whether it is over and nothing went wrong."""
        return bool(self._operation.finished and self._operation.error is None)

    def exception(self) -> BaseException | None:
        """What went wrong."""
        error: BaseException | None = self._operation.error
        return error

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._result

    def synchronize(self) -> None:
        """wait()."""
        self.wait()

    def get_future(self) -> Future:
        """The future of result()."""
        future = Future()
        future._help = lambda: self._operation.queue.finish(self._operation)

        def settle() -> None:
            if self._operation.error is not None:
                future.set_exception(self._operation.error)
            else:
                future.set_result(self._result)

        self._operation.whenever_over(settle)
        return future


class _NoOperation:
    """What is asked when a class derived from Work does not answer itself."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("this class derived from torch.distributed.Work does not say how its work goes on")


class _FutureWork(Work):
    """The Work of a value that comes by a future."""

    def __init__(self, future: Any) -> None:
        super().__init__()
        self._future = future

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait for the value; True."""
        self._future.wait()
        return True

    def is_completed(self) -> bool:
        """Whether it has come, or failed."""
        return bool(self._future.done())

    def is_success(self) -> bool:
        """Whether it has come."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What went wrong."""
        found: BaseException | None = self._future.exception()
        return found

    def result(self) -> list[Any]:
        """The value: tensors."""
        return list(self._future.wait())

    def get_future(self) -> Any:
        """The future."""
        return self._future


def _create_work_from_future(future: Any) -> Work:
    """What a process group's method may answer with, where a future of its tensors is what it has."""
    return _FutureWork(future)


_Work = Work  # what PyTorch's own process groups in Python derive theirs from
