"""Tiers: a kernel starts on NumPy and is replaced by machine code when it is hot.

`Tiered.fn` is the best callable right now. Compilation runs on one daemon thread (LLVM works
without the interpreter lock), in the order in which kernels became hot. NumPy and machine code may
differ in the last bit, so when to change over is decided by the work done alone, never by when the
compiler was ready: a program that runs twice changes over at the same calls. `state` and `resume` carry the
work over to another process, so that a program which is stopped and goes on there does so, too.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from rushlight._engine.core.callers import warn
from rushlight._engine.core.settings import knobs

COLD, QUEUED, READY, NUMPY_ONLY = range(4)

_lock = threading.Lock()


class _Compiler:
    """The queue and the thread that serves it."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Tiered] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.built: list[Tiered] = []
        # Until when kernels="llvm" compiles at once.
        self.until: float | None = None


_compiler = _Compiler()
_kernels: list[Tiered] = []
# What another process had done: see `resume`.
_done: dict[str, float] = {}


class Tiered:
    """A kernel; subclasses say how it is evaluated with NumPy and how it is compiled.

    reference(*arrays, out=None)  the meaning, by NumPy
    build() -> ufunc or None      machine code; None where the expression cannot be compiled
    parallel(*arrays, out=None)   the machine code, over several threads
    cost                          of a small call by NumPy, in calls of one of its functions
    """

    cost = 1

    def __init__(self) -> None:
        self.fn: Callable[..., Any] = self._counted
        self._work = 0.0
        self._state = COLD
        self._made: Callable[..., Any] | None = None
        self._built: threading.Event | None = None
        self._waiting: list[Callable[[Any], None]] = []
        _kernels.append(self)

    @property
    def content(self) -> str:
        """What tells this kernel from others of its class, in any process."""
        return ""

    @cached_property
    def name(self) -> str:
        """A digest of what it computes."""
        from hashlib import sha256  # which takes 5 ms to load

        return sha256(f"{type(self).__name__} {self.content}".encode()).hexdigest()[:32]

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
        """For big arrays: over several threads once compiled, and compiled at once."""
        if self._state == READY:
            return self.parallel(*arrays, out=out)
        return self._counted(*arrays, out=out)

    def _counted(self, *arrays: Any, out: Any = None) -> Any:
        if self._state == READY:
            return self(*arrays, out=out)
        if self.pending:
            self._count(arrays)
            if self._state == READY:
                return self.parallel(*arrays, out=out)
        return self.reference(*arrays, out=out)

    def _count(self, arrays: Any) -> None:
        mode = knobs.kernels
        if mode == "llvm" and (_compiler.until is None or time.perf_counter() < _compiler.until):
            self.compile_now()
            return
        if mode == "numpy":
            return
        hot = knobs.hot_calls
        if not self._work and _done:
            self._work = _done.get(self.name, 0.0)
        before = self._work
        most = max([getattr(a, "size", 0) for a in arrays], default=0)
        self._work += self.cost + most * hot / knobs.hot_size
        if self._state == COLD and self._work >= hot:
            self._state, self._built = QUEUED, threading.Event()
            _enqueue(self)
        if before >= hot and self._work >= hot * knobs.switch_after:
            self.settle()

    def settle(self) -> None:
        """Change over to the machine code that was asked for, waiting for it if need be."""
        if self._built is not None:
            self._built.wait()
            self._install(self._made)

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
            self._install(self._made or self.build())
        return self._state == READY

    def _install(self, made: Callable[..., Any] | None) -> None:
        with _lock:
            if not self.pending:
                return
            self._state = NUMPY_ONLY if made is None else READY
            self.fn = self.reference if made is None else made
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(self.fn)


def _enqueue(kernel: Tiered) -> None:
    with _lock:
        if _compiler.thread is None or not _compiler.thread.is_alive():
            _compiler.thread = threading.Thread(
                target=_serve, args=(_compiler.queue,), name="rushlight-compiler", daemon=True
            )
            _compiler.thread.start()
    _compiler.queue.put(kernel)


def _serve(pending: queue.SimpleQueue[Tiered]) -> None:
    while True:
        kernel = pending.get()
        try:
            kernel._made = kernel.build()
        except Exception as error:  # noqa: BLE001 - the program goes on, on NumPy
            warn(f"rushlight: a kernel could not be compiled and stays on NumPy: {error}", RuntimeWarning)
        finally:
            _compiler.built.append(kernel)
            if kernel._built is not None:
                kernel._built.set()


def state() -> dict[str, float]:
    """The work done so far, by kernels' names; of those that have changed over, what it takes."""
    turned = float(knobs.hot_calls * knobs.switch_after)
    found = {k: max(k._work, turned) if not k.pending else k._work for k in list(_kernels)}
    return {kernel.name: work for kernel, work in found.items() if work}


def resume(done: dict[str, float]) -> None:
    """Count from `done` on, a `state`; so do kernels that are made later. The changed stay."""
    global _done
    _done = done
    for kernel in list(_kernels):
        kernel._work = 0.0


def _forget() -> None:
    """A forked child has no compiling thread; locks and queue may have been in use."""
    global _lock
    _lock = threading.Lock()
    _compiler.__init__()  # type: ignore[misc]


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


def wait() -> None:
    """Change over to the machine code of everything queued so far (tests, benchmarks)."""
    done = threading.Event()

    class Mark(Tiered):
        def build(self) -> None:
            done.set()

    if _compiler.thread is not None:
        _enqueue(Mark())
        done.wait()
    built, _compiler.built = _compiler.built, []
    for kernel in built:
        kernel.settle()
