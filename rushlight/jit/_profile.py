"""torch.jit._ScriptProfile: how often each line of a program ran, and how long it took."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from rushlight.jit.frontend import Place, Source
from rushlight.jit.program.failures import PLACES

_HEADS = ("Line #", "Hits", "Time (ns)", "Line Contents")


class _Here(threading.local):
    """A thread's profiles that are enabled, and what followed its lines before."""

    def __init__(self) -> None:
        self.running: list[_ScriptProfile] = []
        self.before: Any = None


_here = _Here()


class _ScriptProfile:
    """Counts in the thread that enables it; `dump` prints a table of each function that ran."""

    def __init__(self) -> None:
        self._counted: dict[tuple[Source, int], list[int]] = {}  # (text, line) -> times, nanoseconds

    def enable(self) -> None:
        """Count from now on."""
        if not _here.running:
            _here.before = sys.gettrace()
            sys.settrace(_called)
        if self not in _here.running:
            _here.running.append(self)

    def disable(self) -> None:
        """Count no more."""
        if self in _here.running:
            _here.running.remove(self)
            if not _here.running:
                sys.settrace(_here.before)

    def dump_string(self) -> str:
        """The tables; empty where no program ran."""
        sources = dict.fromkeys(source for source, _ in self._counted)
        return "\n".join(self._table(source) for source in sources)

    def dump(self) -> None:
        """Print the tables."""
        print(self.dump_string())

    def _table(self, source: Source) -> str:
        lines = []
        for i, text in enumerate(source.lines):
            found = self._counted.get((source, i + 1))
            told = [str(n) for n in found] if found is not None else ["", ""]
            lines.append([str(source.first + i), *told, source.indent + text])
        widths = [max(len(line[i]) for line in [list(_HEADS), *lines]) + 2 for i in range(3)]
        head, *rows = [
            "".join(cell.rjust(width) for cell, width in zip(line, widths, strict=False)) + f" {line[3]}"
            for line in [list(_HEADS), *lines]
        ]
        return "\n".join([head, "=" * len(head), *(row.rstrip() for row in rows)])


def _called(frame: FrameType, event: str, arg: Any) -> Any:
    """What Python calls for each function that begins: programs alone are followed line by line."""
    places = PLACES.get(frame.f_code.co_filename)
    return None if places is None else _Lines(places).step


class _Lines:
    """One run of a program's function."""

    def __init__(self, places: list[str]) -> None:
        self.places = places
        self.place: str | None = None
        self.since = 0

    def step(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A line begins, or the function ends."""
        now = time.perf_counter_ns()
        if isinstance(self.place, Place):
            key = self.place.source, getattr(self.place.node, "lineno", 1)
            for profile in _here.running:
                counted = profile._counted.setdefault(key, [0, 0])
                counted[0] += 1
                counted[1] += now - self.since
        self.place = None
        if event == "line":
            self.place = next(iter(self.places[frame.f_lineno - 2 : frame.f_lineno - 1]), None)
        self.since = time.perf_counter_ns()
        return self.step
