"""Tiers: a kernel starts on NumPy and is replaced by machine code when it is hot.

`Tiered.fn` is the best callable right now. Compilation runs on one daemon thread (LLVM works
without the interpreter lock), in the order in which kernels became hot.
"""
from __future__ import annotations

import os
import queue
import threading
import warnings
from collections.abc import Callable
from typing import Any

from rushlight.base.config import knobs

COLD, QUEUED, READY, NUMPY_ONLY = range(4)

_lock = threading.Lock()


class _Compiler:
    """The queue and the thread that serves it."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Tiered] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None


_compiler = _Compiler()


class Tiered:
    """A kernel; subclasses say how it is evaluated with NumPy and how it is compiled.

    reference(*arrays, out=None)  the meaning, by NumPy
    build() -> ufunc or None      machine code; None where the expression cannot be compiled
    parallel(*arrays, out=None)   the machine code, over several threads
    """

    def __init__(self) -> None:
        self.fn: Callable[..., Any] = self._counted
        self._calls = 0
        self._state = COLD
        self._waiting: list[Callable[[Any], None]] = []

    @property
    def ready(self) -> bool:
        """Whether `fn` is machine code."""
        return self._state == READY

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
        """For big arrays: over several threads once compiled, and compiled at once."""
        if self._state == READY:
            return self.parallel(*arrays, out=out)
        return self._counted(*arrays, out=out)

    def _counted(self, *arrays: Any, out: Any = None) -> Any:
        if self._state == READY:
            return self(*arrays, out=out)
        if self._state == COLD:
            self._count(arrays)
            if self._state == READY:
                return self.parallel(*arrays, out=out)
        return self.reference(*arrays, out=out)

    def _count(self, arrays: Any) -> None:
        mode = knobs.kernels
        if mode == "llvm":
            self.compile_now()
            return
        self._calls += 1
        if self._calls >= knobs.hot_calls or any(a.size >= knobs.hot_size for a in arrays):
            if mode == "numpy":
                self._calls = 0
                return
            self._state = QUEUED
            _enqueue(self)

    def on_ready(self, callback: Callable[[Any], None]) -> None:
        """Call back with the machine code's callable: when there is one, or now if there is."""
        with _lock:
            if self._state != READY:
                if self._state != NUMPY_ONLY:
                    self._waiting.append(callback)
                return
        callback(self.fn)

    def compile_now(self) -> bool:
        """Compile in this thread unless done; whether there is machine code."""
        if self._state in (COLD, QUEUED):
            self._install(self.build())
        return self._state == READY

    def _install(self, made: Callable[..., Any] | None) -> None:
        with _lock:
            if self._state in (READY, NUMPY_ONLY):
                return
            self._state = NUMPY_ONLY if made is None else READY
            self.fn = self.reference if made is None else made
            waiting, self._waiting = self._waiting, []
        if made is not None:
            for callback in waiting:
                callback(made)


def _enqueue(kernel: Tiered) -> None:
    with _lock:
        if _compiler.thread is None or not _compiler.thread.is_alive():
            _compiler.thread = threading.Thread(target=_work, args=(_compiler.queue,),
                                                name="rushlight-compiler", daemon=True)
            _compiler.thread.start()
    _compiler.queue.put(kernel)


def _work(pending: queue.SimpleQueue[Tiered]) -> None:
    while True:
        kernel = pending.get()
        try:
            kernel.compile_now()
        except Exception as error:  # noqa: BLE001 - the program goes on, on NumPy
            kernel._install(None)
            warnings.warn(f"rushlight: a kernel could not be compiled and stays on NumPy: {error}",
                          RuntimeWarning, stacklevel=1)


def _forget() -> None:
    """A forked child has no compiling thread; locks and queue may have been in use."""
    global _lock
    _lock = threading.Lock()
    _compiler.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def wait() -> None:
    """Wait until everything queued so far is compiled (tests, benchmarks)."""
    done = threading.Event()

    class Mark(Tiered):
        def build(self) -> None:
            done.set()

    if _compiler.thread is not None:
        _enqueue(Mark())
        done.wait()
