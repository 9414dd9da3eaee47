"""Timer: timeit with warm-up, a fixed number of threads, and as many runs as it takes."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any

import rushlight as torch
from rushlight.utils.benchmark.utils.common import Measurement, TaskSpec, set_torch_threads

timer = timeit.default_timer
_Callback = Callable[[int, float], Any]


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON, CPP = 0, 1


class Timer:
    """Measure how long a statement takes.

    stmt, setup: Python code, "pass" by default; `torch` is among its names.
    globals: further names that the code uses.
    timer: function that gives the time in seconds.
    label, sub_label, description, env: names for the result, by which `Compare` makes its tables.
    num_threads: `torch.set_num_threads` while it is measured, 1 by default.

    Raises ValueError for code that is no str; NotImplementedError for C++.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        _require_python(language)
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                "simply be moved to `setup`."
            )
        stmt, setup = (textwrap.dedent(code).strip() for code in (stmt, setup))
        self._globals = {"torch": torch, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        # A clock that did not advance must not make rates infinite.
        return max(self._timer.timeit(number), 1e-9)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs, after a hundredth as many (at least 2) for warm-up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not offered: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: _Callback | None = None) -> None:
        """Not offered: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: _Callback | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measurements of equal blocks of runs, until they have taken `min_run_time` seconds.

        Blocks are long enough that reading the clock does not matter. `callback(runs, seconds)` is called
        after each.
        """
        return self._repeated(min_run_time, lambda found: True, min_run_time, None, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: _Callback | None = None,
    ) -> Measurement:
        """As `blocked_autorange`, until the distance of the quartiles is below `threshold` medians.

        Takes four blocks and `min_run_time` seconds at least, and ends after `max_run_time` seconds.
        """

        def steady(found: Measurement) -> bool:
            return len(found.raw_times) > 3 and found.meets_confidence(threshold)

        return self._repeated(0.05, steady, min_run_time, max_run_time, callback)

    def _repeated(
        self,
        trial_time: float,
        enough: Callable[[Measurement], bool],
        min_run_time: float,
        max_run_time: float | None,
        callback: _Callback | None,
    ) -> Measurement:
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(trial_time)
            found, total = self._measurement(number, []), 0.0
            while total < min_run_time or not enough(found):
                spent = self._timeit(number)
                found.raw_times.append(spent)
                total += spent
                if callback is not None:
                    callback(number, spent)
                if max_run_time is not None and total > max_run_time:
                    break
        return found

    def _block_size(self, min_run_time: float) -> int:
        """The power of ten from which on a ten-thousandth of the time is the clock's own."""
        overhead = median(self._timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            long = (overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time
            if long or number * 10 > 2**31 - 1:
                return number
            number *= 10

    def collect_callgrind(self, number: int = 100, **options: Any) -> Any:
        """Not offered: instruction counts need Valgrind."""
        raise NotImplementedError(
            "Timer.collect_callgrind is not in Rushlight: it counts a C++ program's "
            "instructions; use blocked_autorange"
        )


def _require_python(language: Language | str) -> None:
    name = language.name if isinstance(language, Language) else str(language)
    if name.lower() in ("cpp", "c++"):
        raise NotImplementedError(
            "Timer: language C++ is not in Rushlight, which has no C++ interface; give "
            "the statement in Python"
        )
    if name.lower() not in ("py", "python"):
        raise ValueError(f"Invalid language `{language}`.")
