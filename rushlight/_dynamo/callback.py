"""torch._dynamo.callback: functions that hear of each compiling, before and after."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count


class CallbackTrigger(enum.Enum):
    """What has begun to compile."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


@dataclass
class CallbackArgs:
    """What a callback is given: compile_id is the number of the compiling in this process."""

    callback_trigger: CallbackTrigger
    compile_id: str


Callback = Callable[[CallbackArgs], None]


@dataclass
class CompilationCallbackHandler:
    """The callbacks; of compilings inside of a compiling they hear nothing."""

    start_callbacks: list[Callback] = field(default_factory=list)
    end_callbacks: list[Callback] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _depth: int = 0

    @property
    def listening(self) -> bool:
        """Whether there is a callback."""
        return bool(self.start_callbacks or self.end_callbacks)

    def register_start_callback(self, callback: Callback) -> Callback:
        """Call `callback` before each compiling."""
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback: Callback) -> Callback:
        """Call `callback` after each compiling."""
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback: Callback) -> None:
        """Undo register_start_callback; ValueError if there was none."""
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback: Callback) -> None:
        """Undo register_end_callback; ValueError if there was none."""
        self.end_callbacks.remove(callback)

    def run_start_callbacks(self, args: CallbackArgs) -> None:
        """Call those for the start."""
        for callback in self.start_callbacks:
            callback(args)

    def run_end_callbacks(self, args: CallbackArgs) -> None:
        """Call those for the end."""
        for callback in self.end_callbacks:
            callback(args)

    def clear(self) -> None:
        """Forget all callbacks."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around a call of a compiled function with arguments of a new kind."""
        if self._depth or not self.listening:
            yield
            return
        args = CallbackArgs(CallbackTrigger.DYNAMO, f"{next(self._numbers)}/0")
        self.run_start_callbacks(args)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.run_end_callbacks(args)


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback: Callback) -> Callback:
    """Decorator: call it with CallbackArgs before each compiling."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback: Callback) -> Callback:
    """Decorator: call it with CallbackArgs after each compiling."""
    return callback_handler.register_end_callback(callback)
