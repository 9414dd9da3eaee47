"""One section of benchmarks.gpu in a process of its own, by Rushlight or by PyTorch; prints JSON lines.

python -m benchmarks.gpu.worker SECTION LIBRARY SECONDS FIRST PART/PARTS [--fake] [--one]

FIRST: how many attempts of the section are left out, since they were made before. --one: make one attempt.
The exit status is 1 where the device's context was lost: what comes then needs another process.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

# What PyTorch's errors say of every error.
_ADVICE = ("CUDA kernel errors might be", "For debugging consider passing", "Search for `cuda")


def told(error: BaseException) -> str:
    """An error on a line: its type, its text without advice, and what was noted beside it."""
    lines = [line.strip() for line in str(error).splitlines() if not line.startswith(_ADVICE)]
    return " | ".join(
        [f"{type(error).__name__}: {' | '.join(lines)[:1200]}", *getattr(error, "__notes__", ())]
    )


class Bench:
    """What sections have: the library, how large things are, until when there is time, `line` and `attempt`.

    first: how many attempts are left out. one: whether the process ends after one.
    """

    def __init__(self, library: str, seconds: float, fake: bool, first: int = 0, one: bool = False) -> None:
        began = time.perf_counter()
        self.first, self.one, self.number = first, one, 0
        if library == "rushlight":
            if fake:
                self._imitate()
            sys.modules["torch"] = import_module("rushlight")
        self.torch: Any = import_module("torch")
        self.import_seconds = time.perf_counter() - began
        self.library, self.fake = library, fake
        self.until = time.perf_counter() + seconds - 2

    def check(self) -> None:
        """End the process where there is no device, with the reason."""
        if self.torch.cuda.is_available():
            return
        try:
            self.torch.zeros(1, device="cuda")
            reason = "and yet an array was made on it"
        except Exception as error:
            reason = told(error)
        raise SystemExit(f"{self.library}: torch.cuda.is_available() is False: {reason}")

    def _imitate(self) -> None:
        fake_driver = import_module("tests.cuda.fake_driver")
        driver = fake_driver.FakeDriver(devices=1, memory=4 << 30)
        fake_driver.install(driver)
        for planted in filter(None, os.environ.get("FAKE_ERRORS", "").split(",")):  # "cuLaunchKernel:700"
            name, _, code = planted.partition(":")
            driver.planted.setdefault(name, []).append(int(code))
        solver = import_module("rushlight._engine.devices.cuda.driver.solver")
        solver.Override.library = import_module("tests.cuda.fake_solver").FakeSolver(driver)
        nccl = import_module("rushlight._engine.devices.cuda.driver.nccl")
        nccl.Override.library = import_module("tests.cuda.fake_nccl").FakeNccl(driver)
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
        """Print what `work` gives, or its error; nothing when the time is up. The process ends where the
        device's context was lost.
        """
        self.number += 1
        if self.late or self.number <= self.first:
            return
        print(json.dumps({"next": self.number, "name": name}), flush=True)
        lost = False
        try:
            self.line(name, work(), unit)
        except NotImplementedError as error:
            self.line(name, "refused", unit, error=str(error)[:200])
        except Exception as error:
            lost = self.lost()
            self.line(name, None, unit, error=traceback.format_exc(limit=-4), told=told(error))
        if lost or self.one:
            sys.exit(int(lost))

    def lost(self) -> bool:
        """Whether the device's context is lost: then every call fails. Not where there is no device."""
        try:
            self.torch.cuda.synchronize()
        except self.torch.AcceleratorError:
            return True
        except Exception:
            return False
        return False

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
    bench = Bench(library, float(seconds), "--fake" in rest, int(first), "--one" in rest)
    if section == "contact":  # what comes before there is a device
        from benchmarks.gpu import contact

        contact.contact(bench)
        return 0
    try:
        return made(bench, section, int(first), part)
    except Exception as error:
        bench.line(f"{section} ended", None, error=traceback.format_exc(limit=-4), told=told(error))
        return 1


def made(bench: Bench, section: str, first: int, part: str) -> int:
    """Run a section on a device; the exit status."""
    bench.check()
    if section == "cases":
        from benchmarks.gpu import cases

        number, parts = part.split("/")
        return cases.run(bench, first, int(number), int(parts))
    from benchmarks.gpu import same, sections

    {**sections.SECTIONS, **same.SECTIONS}[section](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
