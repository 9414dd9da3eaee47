"""Events of a profile: the tree that the records make, sums by name, and files of them."""

from __future__ import annotations

import enum
import gzip
import json
import os
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from rushlight._engine.core.profiling_ranges import BACKWARD, OP, USER, Log
from rushlight._engine.dispatch.node_names import named
from rushlight.profiler.table import build_table, bytes_text, share_text, time_text

# What to watch: there is a CPU; other activities are accepted and see nothing.
ProfilerActivity = enum.Enum("ProfilerActivity", "CPU XPU MTIA CUDA HPU PrivateUse1", start=0)
DeviceType = enum.Enum("DeviceType", "CPU CUDA", start=0)
RecordScope = enum.IntEnum("RecordScope", {"FUNCTION": OP, "BACKWARD_FUNCTION": BACKWARD, "USER_SCOPE": USER})
# PyTorch's names of these.
_format_time, _format_memory, _format_time_share = time_text, bytes_text, share_text


def supported_activities() -> set[Any]:
    """The CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """True: what kineto does for PyTorch, its schedules and traces among it, is here."""
    return True


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
    device_time = device_time_total = self_device_time_total = 0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id, use_device, device_type, overload_name = -1, None, DeviceType(0), ""

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return time_text(self.self_cpu_time_total)

    cuda_time = cuda_time_total = self_cuda_time_total = 0


class FunctionEvent(_Figures):
    """One call: of an op, of a node in backward, or of a span that the program named."""

    def __init__(self, id: int, name: str, time_range: Interval, scope: int, detail: Any) -> None:
        self.id, self.trace_name, self.time_range, self.scope = id, name, time_range, scope
        self.name = self.key = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.thread, self.sequence_nr, self.is_user_annotation = 1, -1, scope == USER
        self.input_shapes, self.stack, self.flops, self.cpu_memory_usage = [], [], 0, 0
        if detail is not None:
            shapes, result, self.cpu_memory_usage, self.stack = detail
            self.input_shapes = [list(shape) for shape in shapes]
            self.flops = _flops(name, result, self.input_shapes)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_time_total = time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Without the time of what it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"cpu_children={[c.id for c in self.cpu_children]} input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Figures):
    """Events of one name (and shapes, or callers) together; `like` is the first of them."""

    def __init__(self, key: str, shapes: Any = "", stack: Sequence[str] = (), like: Any = None) -> None:
        self.key, self.input_shapes, self.stack = key, shapes, list(stack)
        self.cpu_children: list[Any] = []
        self.count = self.flops = self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.scope, self.is_user_annotation = getattr(like, "scope", OP), getattr(like, "scope", OP) == USER
        self.cpu_parent = getattr(like, "cpu_parent", None)

    def add(self, other: Any) -> FunctionEventAvg:
        """Count an event in."""
        for figure in (
            "count",
            "cpu_time_total",
            "self_cpu_time_total",
            "cpu_memory_usage",
            "self_cpu_memory_usage",
            "flops",
        ):
            setattr(self, figure, getattr(self, figure) + getattr(other, figure))
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count} input_shapes={self.input_shapes}>"
        )


_NAMES = {
    "cross_entropy": "cross_entropy_loss",
    "_view": "view",
    "_to_dtype": "_to_copy",
    "_overwritten": "copy",
    "normal_fill": "normal",
    "bernoulli_fill": "bernoulli",
}
# Rows of these names PyTorch has as well. Others that begin with an underscore are parts that are ours alone:
# their time is that of the op which they are a part of.
_PYTORCHS = frozenset(
    "_adaptive_avg_pool2d _adaptive_avg_pool3d _add_relu _addmm_activation _batch_norm_with_update "
    "_chunk_cat _conj_physical _convolution _ctc_loss _ctc_loss_backward _embedding_bag _fft_c2c "
    "_fft_c2r _fft_r2c _log_softmax _log_softmax_backward_data _masked_softmax "
    "_native_batch_norm_legit _neg_view _prelu_kernel _safe_softmax _sample_dirichlet _softmax "
    "_softmax_backward_data _stack _standard_gamma _unsafe_masked_index "
    "_unsafe_masked_index_put_accumulate".split()
)
_PRODUCTS = {"mm": 0, "bmm": 0, "linear": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1}


def _flops(name: str, result: Any, given: list[Any]) -> int:
    """PyTorch's count: of products, convolutions, sums and products of elements; from shapes alone."""
    op, out, shapes = name.removeprefix("aten::"), prod(result), [s for s in given if s]
    if op in _PRODUCTS and shapes:
        return int(2 * out * shapes[_PRODUCTS[op]][-1])
    if op.startswith("conv") and len(shapes) > 1:
        return int(2 * out * prod(shapes[1][1:]))
    return out if op in ("add", "mul") else 0


def _names(scope: int, name: str, suffix: str) -> list[str]:
    if scope == OP:
        return [f"aten::{_NAMES.get(name, name)}{suffix}"]
    return [name] if scope == USER else [f"autograd::engine::evaluate_function: {name}", name]


def _is_part(scope: int, name: str) -> bool:
    return scope == OP and name[:1] == "_" and name not in _NAMES and name not in _PYTORCHS


def _place(place: Any) -> tuple[int, str, str]:
    if isinstance(place, (str, type)):
        return (USER, place, "") if isinstance(place, str) else (BACKWARD, place.__name__, "")
    if isinstance(place[0], type):
        return BACKWARD, named(*place), ""
    scope, name, suffix = place
    return scope, name, suffix


def tree(log: Log, begin: float) -> EventList:
    """The events of a log, each below the one that it lies in; `begin`: when the profile began (s)."""
    r, events, open_ = log.records, EventList(), list[FunctionEvent]()
    # Inner calls end first, so of equal stretches the later record is the outer one.
    for i in sorted(range(0, len(r), 3), key=lambda i: (r[i + 1], -r[i + 2], -i)):
        place, start, end = _place(r[i]), *r[i + 1 : i + 3]
        time = Interval((start - begin) * 1e6, (end - begin) * 1e6)
        if _is_part(*place[:2]) and any(e.scope == OP and e.time_range.end >= time.end for e in open_):
            continue
        for name in _names(*place) if start >= begin else ():
            event = FunctionEvent(len(events), name, time, place[0], log.details.get(i))
            while open_ and open_[-1].time_range.end < time.end:
                open_.pop()
            if open_:
                event.cpu_parent = open_[-1]
                open_[-1].cpu_children.append(event)
            open_.append(event)
            events.append(event)
    for name, start, end, shapes in log.apart:
        if start >= begin:
            time = Interval((start - begin) * 1e6, (end - begin) * 1e6)
            event = FunctionEvent(len(events), name, time, USER, (shapes, (), 0, []))
            event.is_async = True
            events.append(event)
    for event in reversed(events):  # children first: an op's memory is that of all below it
        below = sum(child.cpu_memory_usage for child in event.cpu_children)
        event.self_cpu_memory_usage = max(event.cpu_memory_usage - below, 0)
        event.cpu_memory_usage = max(event.cpu_memory_usage, below)
        if any(child.flops for child in event.cpu_children):
            event.flops = 0
    return events


class EventList(list[Any]):
    """A list of events, or of their sums."""

    profile_memory = with_flops = False

    def _like(self, events: Sequence[Any]) -> EventList:
        found = EventList(events)
        found.__dict__.update(self.__dict__)
        return found

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, of all events together."""
        return float(sum(event.self_cpu_time_total for event in self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, as PyTorch lays it out.

        sort_by: a figure ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count",
        "cpu_memory_usage", ...), largest first; AttributeError for others. row_limit: rows at most, -1 for
        all. time_unit: "us", "ms" or "s" for all times; each its own by default.
        """
        return build_table(
            self,
            sort_by,
            row_limit,
            header,
            top_level_events_only,
            time_unit,
            (max_name_column_width, max_shapes_column_width, max_src_column_width),
        )

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed by name; by shapes of operands, and by `group_by_stack_n` callers, if asked."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            stack = event.stack[:group_by_stack_n]
            shapes = event.input_shapes if group_by_input_shapes else ""
            new = FunctionEventAvg(event.key, shapes, stack, event)
            sums.setdefault((event.key, str(shapes), *stack), new).add(event)
        return self._like(list(sums.values()))

    def total_average(self) -> FunctionEventAvg:
        """All events in one sum, named "Total"."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: Any, extra: dict[str, Any] | None = None) -> None:
        """Write JSON that chrome://tracing and Perfetto show; compressed if the name ends in .gz."""
        path, pid = os.fspath(path), os.getpid()
        name = {"ph": "M", "name": "process_name", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}}
        whole = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "displayTimeUnit": "ms",
            "traceName": path,
            **(extra or {}),
            "traceEvents": [name, *[_chrome(event, pid) for event in self]],
        }
        opener: Callable[..., Any] = gzip.open if path.endswith(".gz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            json.dump(whole, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write "outermost;...;innermost time" lines, as flame graph tools read them.

        metric: "self_cpu_time_total", or "self_cuda_time_total" (zeros); ValueError for others.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total"):
            raise ValueError(
                f"metric should be one of: ['self_cpu_time_total', 'self_cuda_time_total'], got {metric!r}"
            )
        marks = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                names = [frame.translate(marks) for frame in (*reversed(event.stack), event.key)]
                if event.stack and getattr(event, metric) >= 1:
                    file.write(f"{';'.join(names)} {int(getattr(event, metric))}\n")


def _chrome(event: FunctionEvent, pid: int) -> dict[str, Any]:
    told = {"Input Dims": event.input_shapes, "Call stack": ";".join(event.stack)}
    return {
        "ph": "X",
        "cat": "user_annotation" if event.scope == USER else "cpu_op",
        "pid": pid,
        "tid": pid,
        "name": event.trace_name,
        "ts": event.time_range.start,
        "dur": event.time_range.elapsed_us(),
        "args": {"External id": event.id, **{k: v for k, v in told.items() if v}},
    }
