"""Handlers, groups of metrics, and the decorators that time functions."""

from __future__ import annotations

import abc
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rushlight._engine.core.callers import deprecated

__all__ = [
    "ConsoleMetricHandler",
    "MetricData",
    "MetricHandler",
    "MetricStream",
    "MetricsConfig",
    "NullMetricHandler",
    "configure",
    "getStream",
    "get_elapsed_time_ms",
    "prof",
    "profile",
    "publish_metric",
    "put_metric",
]

Function = Callable[..., Any]


class MetricData(NamedTuple):
    """One number; timestamp: seconds since 1970."""

    timestamp: float
    group_name: str
    name: str
    value: int


class MetricsConfig:
    """A handler's options, `params`."""

    __slots__ = ["params"]

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.params = {} if params is None else params


class MetricHandler(abc.ABC):
    """Takes metrics; a program's own overrides emit()."""

    @abc.abstractmethod
    def emit(self, metric_data: MetricData) -> None:
        """Take one metric."""


class ConsoleMetricHandler(MetricHandler):
    """Prints metrics."""

    def emit(self, metric_data: MetricData) -> None:
        """Print one metric."""
        told = f"{metric_data.name}={metric_data.value}"
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {told}")


class NullMetricHandler(MetricHandler):
    """Drops metrics; what is used until configure() is called."""

    def emit(self, metric_data: MetricData) -> None:
        """Drop one metric."""


class MetricStream:
    """A group of metrics, and who takes them."""

    def __init__(self, group_name: str, handler: MetricHandler) -> None:
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name: str, metric_value: int) -> None:
        """Hand one metric on, with the time of now."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_handlers: dict[str | None, MetricHandler] = {None: NullMetricHandler()}  # by group; None: all others


def configure(handler: MetricHandler, group: str | None = None) -> None:
    """Have a group's metrics handled; None: of all groups that have no handler of their own."""
    _handlers[group] = handler


def getStream(group: str) -> MetricStream:
    """The group, with its handler."""
    return MetricStream(group, _handlers.get(group, _handlers[None]))


def put_metric(metric_name: str, metric_value: int, metric_group: str = "torchelastic") -> None:
    """Tell one number."""
    getStream(metric_group).add_value(metric_name, metric_value)


@deprecated("Deprecated, use `put_metric(metric_group)(metric_name, metric_value)` instead")
def publish_metric(metric_group: str, metric_name: str, metric_value: int) -> None:
    """The older put_metric."""
    put_metric(metric_name, metric_value, metric_group)


def get_elapsed_time_ms(start_time_in_seconds: float) -> int:
    """Whole milliseconds since a time.time()."""
    return int((time.time() - start_time_in_seconds) * 1000)


def _get_metric_name(fn: Function) -> str:
    """ "Class.method", or "module.function" with the last part of the module's name."""
    name = fn.__qualname__
    if "." in name or not fn.__module__:
        return name
    return f"{fn.__module__.rpartition('.')[2]}.{name}"


@contextmanager
def _told(name: str, group: str) -> Iterator[None]:
    """Tell whether the block succeeded, and how long it took."""
    start = time.time()
    try:
        yield
        put_metric(f"{name}.success", 1, group)
    except Exception:
        put_metric(f"{name}.failure", 1, group)
        raise
    finally:
        put_metric(f"{name}.duration.ms", get_elapsed_time_ms(start), group)


def _timed(fn: Function, name: str, group: str) -> Function:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _told(name, group):
            return fn(*args, **kwargs)

    return wrapper


def prof(fn: Function | None = None, group: str = "torchelastic") -> Any:
    """A decorator, with a group or without: calls tell NAME.success or NAME.failure, and NAME.duration.ms.

    NAME is "Class.method", or "module.function".
    """
    if fn is None:
        return functools.partial(prof, group=group)
    return _timed(fn, _get_metric_name(fn), group)


@deprecated("Deprecated, use `@prof` instead")
def profile(group: str | None = None) -> Callable[[Function], Function]:
    """The older prof: a decorator whose names are the functions' alone."""

    def wrap(fn: Function) -> Function:
        return _timed(fn, fn.__name__, group)  # type: ignore[arg-type]  # a group may be called None

    return wrap
