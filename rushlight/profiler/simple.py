"""record_function, and the profiler without a schedule: torch.autograd.profiler's names."""

from __future__ import annotations

from contextlib import ContextDecorator, nullcontext
from time import perf_counter
from typing import Any

from rushlight._engine.core.profiling_ranges import SPANS, span
from rushlight.profiler.events import EventList, FunctionEvent, FunctionEventAvg, Interval, tree
from rushlight.profiler.watch import Watch

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]


class record_function(span, ContextDecorator):
    """A context manager and decorator: the time inside is shown under `name` by the profilers at work."""

    def __init__(self, name: str, args: str | None = None) -> None:
        super().__init__(name)
        self.args = args

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)  # a decorated function may call itself


class Results:
    """What can be asked of a profile, by way of its events()."""

    with_stack = False
    metadata: dict[str, Any] = {}

    def _events(self, wanted: str) -> EventList:
        raise NotImplementedError

    def events(self) -> EventList:
        """Every event, in order of time."""
        return self._events("accessing events")

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed by name; by shapes or callers too, where these were recorded."""
        return self._events("getting key averages").key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: Any) -> None:
        """Write JSON that chrome://tracing and Perfetto show; compressed if the name ends in .gz."""
        self._events("exporting chrome trace").export_chrome_trace(path, self.metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write callers and times as flame graph tools read them; ValueError without with_stack=True."""
        if not self.with_stack:
            raise ValueError("export_stacks() requires with_stack=True")
        self._events("exporting stacks").export_stacks(path, metric)


class profile(Results):
    """A context manager that watches this thread; afterwards `key_averages()`, `table()`, `events()`.

    enabled: with False, nothing happens. record_shapes, with_flops, profile_memory, with_stack: keep these
    too. profile_memory counts what results take, not when they are freed. The rest is accepted.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **ignored: Any,
    ) -> None:
        self.enabled, self.record_shapes, self.with_flops = enabled, record_shapes, with_flops
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self._watch: Watch | None = None
        self._made: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if self._watch is not None:
                raise RuntimeError("Profiler context manager is not reentrant")
            self._watch = Watch(self.record_shapes or self.with_flops, self.profile_memory, self.with_stack)
            self._begin = perf_counter()
            self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._watch is not None:
            self._watch.stop()

    def _events(self, wanted: str) -> EventList:
        if self._watch is None or self._watch.log in SPANS:
            raise RuntimeError("Profiler didn't finish running")
        if self._made is None:
            self._made = tree(self._watch.log, self._begin)
            self._made.profile_memory, self._made.with_flops = self.profile_memory, self.with_flops
            for event in () if self.record_shapes else self._made:
                event.input_shapes = []
        return self._made

    @property
    def function_events(self) -> Any:
        """What `events()` gives; None where nothing was watched."""
        return self.events() if self._watch is not None else None

    @property
    def self_cpu_time_total(self) -> Any:
        """The sum of all events' own time on the CPU, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """EventList.table of all events."""
        return self.events().table(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """All events in one sum."""
        return self.events().total_average()

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._watch is None else str(self.events())


def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> nullcontext[None]:
    """Accepted, and does nothing: there is no NVIDIA tool that could listen."""
    return nullcontext()


emit_itt = emit_nvtx
