"""record_function, and the profiler without a schedule: torch.autograd.profiler's names."""
from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from rushlight.base.spans import SPANS, span
from rushlight.profiler.events import EventList, FunctionEvent, FunctionEventAvg, Interval, tree
from rushlight.profiler.watch import Watch

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "emit_itt", "emit_nvtx", "profile",
           "record_function"]


class record_function:
    """A context manager and decorator: the time inside is shown under `name`. Free where nobody watches."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[span | None] = []

    def __enter__(self) -> record_function:
        self._open.append(span(self.name).__enter__() if SPANS else None)
        return self

    def __exit__(self, *error: object) -> None:
        opened = self._open.pop()
        if opened is not None:
            opened.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)
        return recorded


class profile:
    """A context manager that watches this thread; afterwards `key_averages()`, `table()`, `events()`.

    enabled: with False, nothing happens. record_shapes, with_flops, profile_memory, with_stack: keep these
    too. profile_memory counts what results take, not when they are freed. The rest is accepted.
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, with_flops: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, **ignored: Any) -> None:
        self.enabled, self.record_shapes, self.with_flops = enabled, record_shapes, with_flops
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self._events: EventList | None = None
        self.entered = False

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            detailed = self.record_shapes or self.with_flops or self.profile_memory
            self._watch, self._begin = Watch(detailed, self.with_stack), perf_counter_ns()
            self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._watch.stop()

    def events(self) -> EventList:
        """Every event, in order of time; RuntimeError before the profile has ended."""
        if self._events is None:
            if not self.entered or self._watch.log in SPANS:
                raise RuntimeError("Profiler didn't finish running")
            found = tree(self._watch.log, self._begin)
            found.profile_memory, found.with_flops = self.profile_memory, self.with_flops
            if not self.record_shapes:
                for event in found:
                    event.input_shapes = []
            self._events = found
        return self._events

    function_events = property(lambda self: self.events() if self.entered else None)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events summed by name."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """EventList.table of all events."""
        return self.events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """EventList.export_chrome_trace of all events."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """EventList.export_stacks of all events; ValueError without with_stack=True."""
        if not self.with_stack:
            raise ValueError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def total_average(self) -> FunctionEventAvg:
        """All events in one sum."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, of all events together."""
        return self.events().self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if not self.entered else str(self.events())


class emit_nvtx:
    """Accepted, and does nothing: there is no NVIDIA tool that could listen."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class emit_itt(emit_nvtx):
    """Accepted, and does nothing."""
