"""Counters that programs keep (torch.jit._logging): a logger adds up what add_stat_value is called with."""

from __future__ import annotations

import threading
import time
from enum import IntEnum
from typing import Any

from rushlight.jit.compiler.values import Builtin
from rushlight.jit.state import tracing


class AggregationType(IntEnum):
    """What a counter tells: the sum of its values, or their average."""

    SUM = 0
    AVG = 1


class LoggerBase:
    """What values are given to."""

    def _add(self, key: str, value: int) -> None:
        raise NotImplementedError


class NoopLogger(LoggerBase):
    """Forgets all values."""

    def _add(self, key: str, value: int) -> None:
        """Nothing."""


class LockingLogger(LoggerBase):
    """Keeps a counter of each key; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, tuple[int, int]] = {}  # sum and number of values
        self._kinds: dict[str, AggregationType] = {}

    def _add(self, key: str, value: int) -> None:
        with self._lock:
            total, count = self._counters.get(key, (0, 0))
            self._counters[key] = total + value, count + 1

    def set_aggregation_type(self, key: str, kind: AggregationType) -> None:
        """Say what the counter of a key tells."""
        self._kinds[key] = AggregationType(kind)

    def get_counter_val(self, key: str) -> int:
        """What the counter of a key tells; 0 where nothing was added."""
        with self._lock:
            total, count = self._counters.get(key, (0, 0))
        return total // count if count and self._kinds.get(key) is AggregationType.AVG else total


_current: list[LoggerBase] = [NoopLogger()]


def set_logger(logger: LoggerBase) -> LoggerBase:
    """Give values to this logger from now on; the one before."""
    before, _current[0] = _current[0], logger
    return before


def add_stat_value(key: str, val: int) -> None:
    """Add a value to a counter; in a program each time that it comes there."""
    _noted("prim::AddStatValue", key, val)
    _current[0]._add(key, val)


def time_point() -> int:
    """Nanoseconds of a clock."""
    return time.perf_counter_ns()


def _noted(kind: str, *args: Any) -> None:
    """Make a call a node of the trace that is being recorded, if there is one."""
    tracer = tracing()
    if tracer is not None:
        tracer.note(Builtin(kind), args)


setattr(add_stat_value, "_qualified_op_name", "prim::AddStatValue")
setattr(time_point, "_qualified_op_name", "prim::TimePoint")
