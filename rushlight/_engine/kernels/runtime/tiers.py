"""Tiers: who computes a kernel, NumPy or machine code.

Where both have the same bits (`same_bits` in derive/exactness.py) a kernel begins with NumPy, and becomes
machine code when it comes again and that is on the disk, or when it is hot and a daemon thread compiled it
(LLVM works without the interpreter lock). Where they may differ, machine code computes from the first call.
So which call it is, how full the cache is and how many threads there are decide nothing about the bits.

Why the bits must be the same: docs/decisions/09-same-bits.md.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit.target import UnsupportedProcessor

COLD, QUEUED, READY, NUMPY_ONLY = range(4)

_lock = threading.Lock()


class _Compiler:
    """The queue and the thread that serves it."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Tiered | threading.Event] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        # Until when kernels="llvm" compiles at once; how many ask that all be compiled at once as with that.
        self.until: float | None = None
        self.asked = 0


_compiler = _Compiler()
# Every kernel of the process, for tests that look at all: kernels live as long as it does.
_kernels: list[Tiered] = []


class Tiered:
    """A kernel; subclasses say how it is evaluated with NumPy and how it is compiled.

    reference(*arrays, out=None)  the meaning, by NumPy
    build() -> ufunc or None      machine code; None where the expression cannot be compiled
    parallel(*arrays, out=None)   the machine code, over several threads
    source                        what the machine code is kept by: see native.address
    exact                         whether NumPy and machine code have the same bits
    cost                          of a small call by NumPy, in calls of one of its functions
    """

    cost = 1

    @property
    def source(self) -> tuple[str, str]:
        """Where and by what the machine code is kept; RuntimeError where a kernel does not say so."""
        raise NotImplementedError

    @property
    def exact(self) -> bool:
        """Whether NumPy and machine code have the same bits."""
        raise NotImplementedError

    def __init__(self) -> None:
        self.fn: Callable[..., Any] = self._begin
        self._work, self._sought = 0.0, False
        self._state = COLD
        self._waiting: list[Callable[[Any], None]] = []
        _kernels.append(self)

    @property
    def ready(self) -> bool:
        """Whether `fn` is machine code."""
        return self._state == READY

    @property
    def pending(self) -> bool:
        """Whether `fn` may become machine code."""
        return self._state in (COLD, QUEUED)

    def reference(self, *arrays: Any, out: Any = None) -> Any:
        raise NotImplementedError

    def build(self) -> Callable[..., Any] | None:
        raise NotImplementedError

    def parallel(self, *arrays: Any, out: Any = None) -> Any:
        return self(*arrays, out=out)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        # NumPy's ufuncs of several results do not take out=None.
        return self.fn(*arrays) if out is None else self.fn(*arrays, out=out)

    def large(self, *arrays: Any, out: Any = None) -> Any:
        """For big arrays: over several threads where there is machine code."""
        if self._state == READY or self.decide(arrays):
            return self.parallel(*arrays, out=out)
        return self.reference(*arrays, out=out)

    def _begin(self, *arrays: Any, out: Any = None) -> Any:
        """What `fn` is until it is known who computes."""
        if self._state == READY or self.decide(arrays):
            return self(*arrays, out=out)
        return self.reference(*arrays, out=out)

    def decide(self, arrays: Iterable[Any]) -> bool:
        """Whether machine code computes a call with these operands."""
        mode = settings.kernels
        if self._state == NUMPY_ONLY or mode == "numpy":
            return False
        if not self.exact:
            return self._compiled()
        if (mode == "llvm" or _compiler.asked) and (
            _compiler.until is None or time.perf_counter() < _compiler.until
        ):
            return self._compiled()
        if self._state == COLD:
            self._count(arrays)
        return self._state == READY

    def _count(self, arrays: Iterable[Any]) -> None:
        """Look on the disk when the kernel comes again; have it compiled when it has done much work."""
        known, hot = self._work, settings.hot_calls
        most = max([getattr(a, "size", 0) for a in arrays], default=0)
        self._work += self.cost + most * hot / settings.hot_size
        if (known or self._work >= hot) and not self._sought:
            self._sought = True
            from rushlight._engine.kernels.runtime import native  # here, since few kernels come again

            if native.kept(*self.source):
                self._compiled()
                return
        if self._work >= hot:
            self._state = QUEUED
            _enqueue(self)

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        """Call back with what stays the best callable: when it is known, or now if it is."""
        with _lock:
            if self.pending:
                self._waiting.append(callback)
                return
        callback(self.fn)

    def compile_now(self) -> bool:
        """Compile in this thread unless done; whether there is machine code."""
        if self.pending:
            self._install(self.build())
        return self._state == READY

    def _compiled(self) -> bool:
        """`compile_now` for a program that goes on without."""
        try:
            return self.compile_now()
        except UnsupportedProcessor:
            raise
        except Exception as error:
            warn(f"rushlight: a kernel could not be compiled and stays on NumPy: {error}", RuntimeWarning)
            self._install(None)
            return False

    def _install(self, made: Callable[..., Any] | None) -> None:
        with _lock:
            if not self.pending:
                return
            self.fn = self.reference if made is None else made
            self._state = NUMPY_ONLY if made is None else READY
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(self.fn)


def _enqueue(item: Tiered | threading.Event) -> None:
    """Have a kernel compiled by the compiling thread, or an event set when all before it are."""
    with _lock:
        if _compiler.thread is None or not _compiler.thread.is_alive():
            _compiler.thread = threading.Thread(
                target=_serve, args=(_compiler.queue,), name="rushlight-compiler", daemon=True
            )
            _compiler.thread.start()
    _compiler.queue.put(item)


def _serve(pending: queue.SimpleQueue[Tiered | threading.Event]) -> None:
    """What the compiling thread does."""
    while True:
        item = pending.get()
        if isinstance(item, threading.Event):
            item.set()
        else:
            item._compiled()


def _forget() -> None:
    """A forked child has no compiling thread; locks and queue may have been in use. What waited for the
    thread is hot still: its next call has it queued here.
    """
    global _lock
    _lock = threading.Lock()
    type(_compiler).__init__(_compiler)
    for kernel in _kernels:
        if kernel._state == QUEUED:
            kernel._state = COLD


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def deadline(moment: float | None) -> Iterator[None]:
    """Compile nothing at once after a moment of time.perf_counter(); kernels that are hot still queue."""
    before, _compiler.until = _compiler.until, moment
    try:
        yield
    finally:
        _compiler.until = before


@contextmanager
def at_once() -> Iterator[None]:
    """Compile kernels at their first calls, as with the setting kernels="llvm": but that is a setting, and to
    change it drops all plans of calls, which hold for either.
    """
    with _lock:
        _compiler.asked += 1
    try:
        yield
    finally:
        with _lock:
            _compiler.asked = max(_compiler.asked - 1, 0)  # in a child process it began anew


def wait() -> None:
    """Wait until everything queued so far is machine code (tests, benchmarks)."""
    if _compiler.thread is not None:
        done = threading.Event()
        _enqueue(done)
        done.wait()
