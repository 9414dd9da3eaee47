"""Events of a profile: the tree that the records make, sums by name, and files of them."""
from __future__ import annotations

import enum
import gzip
import json
import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from rushlight.base.spans import BACKWARD, OP, USER, Log
from rushlight.profiler.table import build_table, time_text


class ProfilerActivity(enum.Enum):
    """What to watch. There is a CPU; other activities are accepted and see nothing."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class DeviceType(enum.Enum):
    """Where an event ran."""

    CPU, CUDA = range(2)


class RecordScope(enum.IntEnum):
    """What kind of code an event is."""

    FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = OP, BACKWARD, USER


def supported_activities() -> set[ProfilerActivity]:
    """The CPU."""
    return {ProfilerActivity.CPU}


class Interval(NamedTuple):
    """Microseconds since the profile's start."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class _Figures:
    """What an event and a sum of events both answer; there is no other device than the CPU."""

    count, cpu_time_total, self_cpu_time_total = 1, 0.0, 0.0
    device_time = device_time_total = self_device_time_total = device_memory_usage = 0
    self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id, use_device, device_type, overload_name = -1, None, DeviceType.CPU, ""
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)
    cpu_time_str = property(lambda self: time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: time_text(self.self_cpu_time_total))
    cuda_time = cuda_time_total = self_cuda_time_total = property(lambda self: 0)


class FunctionEvent(_Figures):
    """One call: of an op, of a node in backward, or of a span that the program named."""

    def __init__(self, id: int, name: str, time_range: Interval, scope: int, detail: Any) -> None:
        self.id, self.trace_name, self.time_range, self.scope = id, name, time_range, scope
        self.name = self.key = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.thread, self.sequence_nr = 1, -1
        self.is_user_annotation = scope == USER
        self.input_shapes: list[Any] = [] if detail is None else detail.shapes
        self.stack: list[str] = [] if detail is None else detail.stack
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0 if detail is None else detail.bytes
        self.flops = 0 if detail is None or scope != OP else _flops(name, detail)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_time_total = time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Without the time of what it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} device_type=DeviceType.CPU node_id=-1 "
                f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>")


class FunctionEventAvg(_Figures):
    """Events of one name (and shapes, or callers) together."""

    def __init__(self, key: str | None = None) -> None:
        self.key, self.count, self.flops = key, 0, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.scope, self.cpu_children, self.cpu_parent = OP, [], None
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Count an event in."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        return self

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str}  self_cuda_time=0.000us cuda_time=0.000us "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
                "cuda_memory_usage=0>")


_NAMES = {"cross_entropy": "cross_entropy_loss", "_view": "view", "_to_dtype": "_to_copy"}
_PRODUCTS = frozenset(("mm", "bmm", "addmm", "baddbmm", "linear", "mv", "dot"))


def _flops(name: str, detail: Any) -> int:
    """PyTorch's count: of products, convolutions, sums and products of elements; from shapes alone."""
    op, out, shapes = name.removeprefix("aten::"), prod(detail.result), [s for s in detail.shapes if s]
    if op in _PRODUCTS and shapes:
        return int(2 * out * shapes[1 if op in ("addmm", "baddbmm") else 0][-1])
    if op.startswith("conv") and len(shapes) > 1:
        return 2 * out * prod(shapes[1][1:])
    return out if op in ("add", "mul") else 0


def _name(what: Any, how: Any) -> str:
    if isinstance(what, str):
        return what
    return f"aten::{_NAMES.get(what.name, what.name)}{'_' if getattr(how, 'writes', False) else ''}"


def tree(log: Log, begin: int) -> EventList:
    """The events of a log, each below the one that it lies in; `begin`: the profile's first nanosecond."""
    r = log.records
    # Inner calls end first, so of equal stretches the later record is the outer one.
    order = sorted(range(0, len(r), 6), key=lambda i: (r[i + 3], -r[i + 4], -i))
    events: list[FunctionEvent] = []
    open_: list[FunctionEvent] = []
    for i in order:
        scope, what, how, start, end, detail = r[i:i + 6]
        if start < begin:
            continue
        names = [_name(what, how)]
        if scope == BACKWARD:
            names.insert(0, f"autograd::engine::evaluate_function: {what}")
        for name in names:
            time = Interval((start - begin) / 1000, (end - begin) / 1000)
            event = FunctionEvent(len(events), name, time, scope, detail)
            while open_ and open_[-1].time_range.end < time.end:
                open_.pop()
            if open_:
                event.cpu_parent = open_[-1]
                open_[-1].cpu_children.append(event)
            open_.append(event)
            events.append(event)
    for event in reversed(events):  # children first: an op's memory is that of all below it
        below = sum(child.cpu_memory_usage for child in event.cpu_children)
        event.self_cpu_memory_usage = max(event.cpu_memory_usage - below, 0)
        event.cpu_memory_usage = max(event.cpu_memory_usage, below)
        if any(child.flops for child in event.cpu_children):
            event.flops = 0
    return EventList(events)


class EventList(list[Any]):
    """A list of events, or of their sums."""

    profile_memory = with_flops = with_stack = False

    def _like(self, events: Sequence[Any]) -> EventList:
        found = EventList(events)
        found.profile_memory, found.with_flops = self.profile_memory, self.with_flops
        return found

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, of all events together."""
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int | None = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80,
              header: str | None = None, top_level_events_only: bool = False,
              time_unit: str | None = None) -> str:
        """The events as text, as PyTorch lays it out.

        sort_by: a figure ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count",
        "cpu_memory_usage", ...), largest first; AttributeError for others. row_limit: rows at most, -1 for
        all. time_unit: "us", "ms" or "s" for all times; each its own by default.
        """
        return build_table(self, sort_by, row_limit, header, top_level_events_only, time_unit,
                           (max_name_column_width, max_shapes_column_width, max_src_column_width))

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events summed by name; by shapes of operands, and by `group_by_stack_n` callers, if asked."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ""
            stack = event.stack[:group_by_stack_n]
            key = (event.key, str(shapes), tuple(stack))
            found = sums.get(key)
            if found is None:
                found = sums[key] = FunctionEventAvg(event.key)
                found.input_shapes, found.stack, found.scope = shapes, stack, event.scope
                found.cpu_parent, found.is_user_annotation = event.cpu_parent, event.is_user_annotation
            found.add(event)
        return self._like(list(sums.values()))

    def total_average(self) -> FunctionEventAvg:
        """All events in one sum, named "Total"."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: str, extra: dict[str, Any] | None = None) -> None:
        """Write JSON that chrome://tracing and Perfetto show; compressed if the name ends in .gz."""
        pid = os.getpid()
        name = {"ph": "M", "name": "process_name", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}}
        whole = {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", "traceName": path,
                 **(extra or {}), "traceEvents": [name, *map(_chrome, self, [pid] * len(self))]}
        opener: Callable[..., Any] = gzip.open if path.endswith(".gz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            json.dump(whole, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write "outermost;...;innermost time" lines, as flame graph tools read them.

        metric: "self_cpu_time_total", or "self_cuda_time_total" (zeros); ValueError for others.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total"):
            raise ValueError("metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total'], "
                             f"got {metric!r}")
        marks = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric))
                if event.stack and value > 0:
                    names = [frame.translate(marks) for frame in reversed(event.stack)]
                    file.write(";".join([*names, event.key.translate(marks)]) + f" {value}\n")


def _chrome(event: FunctionEvent, pid: int) -> dict[str, Any]:
    args: dict[str, Any] = {"External id": event.id, "Ev Idx": event.id}
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    return {"ph": "X", "cat": "user_annotation" if event.scope == USER else "cpu_op",
            "name": event.trace_name, "pid": pid, "tid": pid, "ts": event.time_range.start,
            "dur": event.time_range.elapsed_us(), "args": args}


