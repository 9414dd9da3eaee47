"""The table of a profile, laid out as PyTorch prints it."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_WIDTH, _CALLERS = 12, "Source Location"


def time_text(us: float, unit: str | None = None) -> str:
    """Microseconds with a unit that suits them."""
    if unit is None:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / _UNITS[unit]:.3f}{unit}"


def bytes_text(count: int) -> str:
    """Bytes with a unit that suits them."""
    for name, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {name}"
    return f"{count} B"


def share_text(part: float, whole: float) -> str:
    """A part in per cent."""
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


def build_table(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    header: str | None,
    top_only: bool,
    unit: str | None,
    limits: Sequence[int | None],
) -> str:
    """The text of EventList.table; limits: widths of the columns of names, shapes and callers."""
    if not events:
        return ""
    whole = events.self_cpu_time_total
    if sort_by is not None:
        figure = sort_by.replace("cuda", "device")
        events = events._like(sorted(events, key=lambda e: getattr(e, figure), reverse=True))
    columns = _columns(events, whole, unit, limits)

    def row(values: Sequence[str]) -> str:
        return "".join(f"{value:{column[2]}{column[1]}}  " for column, value in zip(columns, values))

    line = row(["-" * width for _, width, _, _ in columns])
    rule = "=" * (len(line) - 2)
    lines = [] if header is None else [rule, header]
    lines += [rule, "This report only display top-level ops statistics"] if top_only else []
    titles = [title for title, _, _, _ in columns]
    lines += [line, row(titles), line]
    shown = [e for e in events if not (top_only and e.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(row([text(event) for *_, text in columns]))
        for frame in [*event.stack[1:], ""] if event.stack else []:
            lines.append(row([frame[:width] if title == _CALLERS else "" for title, width, _, _ in columns]))
    return "\n".join([*lines, line, f"Self CPU time total: {time_text(whole, unit)}", ""])


def _columns(events: Any, whole: float, unit: str | None, limits: Sequence[int | None]) -> list[Any]:
    """(title, width, side, text of an event) of each column."""

    def fitting(texts: Any, limit: int | None) -> int:
        width = max(map(len, texts)) + 4
        return width if limit is None else min(width, limit)

    names, shapes, callers = limits
    width = fitting([e.key for e in events], names)
    found: list[Any] = [
        (
            "Name",
            width,
            ">",
            lambda e: e.key if names is None or len(e.key) < width else f"{e.key[: width - 3]}...",
        ),
        ("Self CPU %", _WIDTH, ">", lambda e: share_text(e.self_cpu_time_total, whole)),
        ("Self CPU", _WIDTH, ">", lambda e: time_text(e.self_cpu_time_total, unit)),
        ("CPU total %", _WIDTH, ">", lambda e: share_text(e.cpu_time_total, whole)),
        ("CPU total", _WIDTH, ">", lambda e: time_text(e.cpu_time_total, unit)),
        ("CPU time avg", _WIDTH, ">", lambda e: time_text(e.cpu_time, unit)),
    ]
    if events.profile_memory:
        found += [
            ("CPU Mem", _WIDTH, ">", lambda e: bytes_text(e.cpu_memory_usage)),
            ("Self CPU Mem", _WIDTH, ">", lambda e: bytes_text(e.self_cpu_memory_usage)),
        ]
    found.append(("# of Calls", _WIDTH, ">", lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        across = fitting([str(e.input_shapes) for e in events], shapes)
        found.append(("Input Shapes", across, ">", lambda e: str(e.input_shapes)[:across]))
    if any(e.stack for e in events):
        deep = fitting([frame for e in events for frame in e.stack], callers)
        found.append((_CALLERS, deep, "<", lambda e: (e.stack or [""])[0][:deep]))
    return found + (_flops(events) if events.with_flops else [])


def _flops(events: Any) -> list[Any]:
    counts = [e.flops for e in events if e.flops > 0]
    if not counts:
        return []
    step = min(max(0, floor(log10(min(counts)) / 3)), len(_FLOPS) - 1)
    return [
        (
            f"Total {_FLOPS[step]}",
            _WIDTH,
            ">",
            lambda e: f"{e.flops / 1000**step:8.3f}" if e.flops > 0 else "--",
        )
    ]
