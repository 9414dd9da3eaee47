"""One section of benchmarks.gpu in a process of its own, by Rushlight or by PyTorch; prints JSON lines.

python -m benchmarks.gpu.worker SECTION LIBRARY SECONDS FIRST PART/PARTS [--fake]
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any


class Bench:
    """What sections have: the library, how large things are, until when there is time, and `line`."""

    def __init__(self, library: str, seconds: float, fake: bool) -> None:
        began = time.perf_counter()
        if library == "rushlight":
            if fake:
                self._imitate()
            sys.modules["torch"] = import_module("rushlight")
        self.torch: Any = import_module("torch")
        self.import_seconds = time.perf_counter() - began
        self.library, self.fake = library, fake
        self.until = time.perf_counter() + seconds - 2
        if not self.torch.cuda.is_available():
            raise SystemExit(f"{library}: torch.cuda.is_available() is False")

    def _imitate(self) -> None:
        fake_driver = import_module("tests.cuda.fake_driver")
        driver = fake_driver.FakeDriver(devices=1, memory=4 << 30)
        fake_driver.install(driver)
        solver = import_module("rushlight._engine.devices.cuda.driver.solver")
        solver.Override.library = import_module("tests.cuda.fake_solver").FakeSolver(driver)
        import_module("rushlight._engine.core.settings").settings.cuda = "driver"

    def size(self, real: int, fake: int) -> int:
        """A size on a GPU, and in the rehearsal."""
        return fake if self.fake else real

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.until

    def line(self, name: str, value: Any = None, unit: str = "", **more: Any) -> None:
        """Print a result."""
        print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)

    def attempt(self, name: str, unit: str, work: Callable[[], Any]) -> None:
        """Print what `work` gives, or its error; nothing when the time is up."""
        if self.late:
            return
        try:
            self.line(name, work(), unit)
        except NotImplementedError as error:
            self.line(name, "refused", unit, error=str(error)[:200])
        except Exception:
            self.line(name, None, unit, error=traceback.format_exc(limit=-4))

    def seconds(self, work: Callable[[], Any], repeats: int = 20) -> float:
        """Seconds of a call on the device, by events: the least of three rounds after a warm-up."""
        cuda = self.torch.cuda
        repeats = self.size(repeats, 1)
        for _ in range(self.size(3, 1)):
            work()
        best = float("inf")
        for _ in range(self.size(3, 1)):
            start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            start.record()
            for _ in range(repeats):
                work()
            end.record()
            cuda.synchronize()
            best = min(best, start.elapsed_time(end) / 1000 / repeats)
        return best

    def host_seconds(self, work: Callable[[], Any], repeats: int = 1000) -> float:
        """Seconds of a call for the host, which waits once at the end: the least of five rounds."""
        repeats = self.size(repeats, 2)
        for _ in range(self.size(20, 1)):
            work()
        best = float("inf")
        for _ in range(self.size(5, 1)):
            self.torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(repeats):
                work()
            spent = time.perf_counter() - began
            self.torch.cuda.synchronize()
            best = min(best, spent / repeats)
        return best


def main() -> int:
    """Run a section."""
    section, library, seconds, first, part, *rest = sys.argv[1:]
    bench = Bench(library, float(seconds), "--fake" in rest)
    if section == "cases":
        from benchmarks.gpu import cases

        number, parts = part.split("/")
        return cases.run(bench, int(first), int(number), int(parts))
    from benchmarks.gpu import same, sections

    {**sections.SECTIONS, **same.SECTIONS}[section](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
