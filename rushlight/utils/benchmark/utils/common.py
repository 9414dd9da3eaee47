"""What was timed (TaskSpec), and how long it took (Measurement)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from statistics import fmean, median
from typing import Any

import numpy as np

import rushlight as torch

_MAX_SIGNIFICANT_FIGURES = 4
_MIN_CONFIDENCE_INTERVAL = 25e-9  # seconds: no clock is better than this
_IQR_WARN, _IQR_GROSS = 0.1, 0.25  # parts of the median

_UNITS = {
    "ns": ("nanosecond", 1e-9),
    "us": ("microsecond", 1e-6),
    "ms": ("millisecond", 1e-3),
    "s": ("second", 1),
}


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """The statement that a Timer runs, and the names that it goes by."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none; with the sub-label."""
        if self.label is None and "\n" in self.stmt:
            heading = f"stmt: ({self.sub_label})" if self.sub_label else "stmt:"
            return f"{heading}\n{_indented(self.stmt)}"
        name = self.label if self.label is not None else self.stmt
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """The setup as a line or block, empty if there is nothing to set up."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{_indented(self.setup)}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, each in its lines."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


_SPEC_NAMES = frozenset(TaskSpec.__dataclass_fields__) | {"title"}


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


@dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement: `raw_times`, in seconds, each of `number_per_run` runs.

    `times`, `median`, `mean` and `iqr` are of single runs. The fields of `task_spec` are attributes too.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _SPEC_NAMES:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds of a run, one for each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """Median of `times`, seconds; -1 without measurements."""
        return median(self.times) if self.raw_times else -1.0

    @property
    def mean(self) -> float:
        """Mean of `times`, seconds; -1 without measurements."""
        return fmean(self.times) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """Distance of the quartiles of `times`, seconds; -1 without measurements."""
        if not self.raw_times:
            return -1.0
        low, high = self._quartiles()
        return high - low

    def _quartiles(self) -> tuple[float, float]:
        low, high = np.quantile(self.times, (0.25, 0.75))
        return float(low), float(high)

    @property
    def significant_figures(self) -> int:
        """How many digits (1 to 4) the median is good for, by the spread of the middle half of `times`."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : ceil(3 * len(times) / 4)]
        interval = max(1.645 * float(np.std(middle)) / sqrt(len(middle)), _MIN_CONFIDENCE_INTERVAL)
        digits = floor(log10(self.median / interval)) if self.median > 0 else 1
        return min(max(digits, 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ by more than a quiet machine's would."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _IQR_WARN) -> bool:
        """Whether the distance of the quartiles is below this part of the median."""
        return self.iqr == 0 or self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """What the rows of Compare call this: the sub-label, else the statement."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count, threads = len(self.raw_times), self.num_threads
        unit, scale = select_unit(self.median)
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}",
        ]
        if count >= 4:
            low, high = self._quartiles()
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        several, per = ("s", "per measurement") if count > 1 else ("", "")
        lines.append(
            f"  {count} measurement{several}, {self.number_per_run} runs {per}, "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )
        return "\n".join(lines + self._warnings())

    def _warnings(self) -> list[str]:
        if self.meets_confidence():
            return []
        advice = (
            "This could indicate system fluctuation."
            if self.meets_confidence(_IQR_GROSS)
            else "This suggests significant environmental influence."
        )
        percent = f"{self.iqr / self.median * 100:.1f}%"
        return [
            f"  WARNING: Interquartile range is {percent} of the median measurement.",
            f"           {advice}",
        ]

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, of single runs; metadata is left behind."""
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, found, spec) for spec, found in times.items()]


def select_unit(t: float) -> tuple[str, float]:
    """The unit ("ns", "us", "ms" or "s") in which `t` seconds are a number from 1 to 1000, and its length."""
    power = floor(log10(t) / 3) if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(power, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The unit's name: "millisecond" for "ms"."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """`x` rounded to `n` significant digits."""
    return float(round(x, n - ceil(log10(abs(x))))) if x else x


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in their order."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """`torch.set_num_threads(n)` within the block."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)
