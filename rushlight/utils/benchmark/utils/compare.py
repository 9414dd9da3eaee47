"""Compare: measurements as tables, one for each label."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from math import ceil, log10

from rushlight.utils.benchmark.utils.common import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

_BEST, _GOOD, _POOR, _BAD = "\x1b[92m\x1b[1m", "\x1b[34m\x1b[1m", "\x1b[2m\x1b[91m", "\x1b[31m\x1b[1m"
_END = "\x1b[0m\x1b[0m"
_SEPARATOR = "  |  "

_RowKey = tuple[int, "str | None", str]


class Colorize(enum.Enum):
    """Among what the best time is looked for."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: one for each label, a row for each sub-label, a column for each description.

    `print()` prints them, `str()` gives the text. Measurements of one task are merged.
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = self._highlight_warnings = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements; ValueError for anything else."""
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Print no more digits than the measurements are good for."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times by their ratio to the best one of the column, or of the row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Say beside a time how far its measurements are spread, if that is much."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.label, []).append(result)
        return "\n".join(
            _Table(group, self._colorize, self._trim_significant_figures, self._highlight_warnings).render()
            for group in groups.values()
        )


class _Table:
    """The measurements of one label."""

    def __init__(self, results: list[Measurement], colorize: Colorize, trim: bool, highlight: bool) -> None:
        self.label, self.colorize, self.highlight = results[0].label or "", colorize, highlight
        self.unit, self.scale = select_unit(min(result.median for result in results))
        keys = ordered_unique(_row_key(result) for result in results)
        self.rows: list[_RowKey] = sorted(keys, key=lambda key: (key[0], key[1] or ""))
        self.columns = []
        for name in ordered_unique(result.description for result in results):
            cells = {_row_key(result): result for result in results if result.description == name}
            self.columns.append(_Column(name or "", cells, self.scale, trim, highlight))
        self.spread = highlight and any(result.has_warnings for result in results)

    def render(self) -> str:
        names = self._row_names()
        width = max(map(len, names))
        total = width + sum(len(_SEPARATOR) + column.width for column in self.columns)
        header = [" " * width, *(column.name.center(column.width) for column in self.columns)]
        lines = [f"[{f' {self.label} '.center(total - 2, '-')}]", _SEPARATOR.join(header)]
        threads = None
        for key, name in zip(self.rows, names):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(total, "-"))
            lines.append(_SEPARATOR.join([name.ljust(width), *self._cells(key)]))
        lines += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""]
        if self.spread:
            lines[-1:] = ["(! XX%) Measurement has high variance, where XX is the IQR / median * 100.", ""]
        return "\n".join(lines)

    def _row_names(self) -> list[str]:
        """The environment stands before the first row that it has among those of as many threads."""
        environments = ordered_unique(env for _, env, _ in self.rows)
        shown = len(environments) > 1
        width = max(len(env or "") for env in environments) if shown else 0
        names, before = [], None
        for threads, env, name in self.rows:
            first = shown and bool(env) and (threads, env) != before
            names.append((f"  ({env})" if first else "").ljust(width + 4) + "  " + name)
            before = (threads, env)
        return names

    def _cells(self, key: _RowKey) -> list[str]:
        texts = [column.text(key).center(column.width) for column in self.columns]
        if self.colorize is Colorize.NONE:
            return texts
        row = [column.cells[key].median for column in self.columns if key in column.cells]
        painted = []
        for column, text in zip(self.columns, texts):
            if key in column.cells:
                best = min(row) if self.colorize is Colorize.ROWWISE else column.best(key[0])
                text = _painted(text, column.cells[key].median, best)
            painted.append(text)
        return painted


class _Column:
    """The measurements of one description, and how wide their numbers are."""

    def __init__(
        self, name: str, cells: dict[_RowKey, Measurement], scale: float, trim: bool, highlight: bool
    ) -> None:
        self.name, self.cells, self.scale, self.trim, self.highlight = name, cells, scale, trim, highlight
        leading = [_digits(result.median / scale) for result in cells.values()]
        self.decimals = 1
        if trim:
            self.decimals = min(
                max(result.significant_figures - digits, 0) for digits, result in zip(leading, cells.values())
            )
        self.length = max(leading) + self.decimals + (1 if self.decimals else 0)
        self.warned = highlight and any(result.has_warnings for result in cells.values())
        self.width = max(len(name), *(len(self.text(key)) for key in cells))

    def text(self, key: _RowKey) -> str:
        """The number, with its spread if that is asked for; empty where there is no measurement."""
        result = self.cells.get(key)
        if result is None:
            return ""
        value = result.median / self.scale
        if self.trim:
            value = trim_sigfig(value, result.significant_figures)
        text = f"{value:>{self.length}.{self.decimals}f}"
        if not self.warned:
            return text
        spread = f" (! {result.iqr / result.median * 100:.0f}%)" if result.has_warnings else ""
        return text + spread.rjust(7)

    def best(self, threads: int) -> float:
        """The least time among the rows of as many threads."""
        return min(result.median for key, result in self.cells.items() if key[0] == threads)


def _row_key(result: Measurement) -> _RowKey:
    return result.num_threads, result.env, result.as_row_name


def _digits(value: float) -> int:
    return ceil(log10(value)) if value > 0 else 1


def _painted(text: str, value: float, best: float) -> str:
    if value <= best:
        return _BEST + text + _END
    if value <= best * 1.1:
        return _GOOD + text + _END
    if value >= best * 5:
        return _BAD + text + _END
    return _POOR + text + _END if value >= best * 2 else text
