"""Measuring: two workers asked in turn, so that a busy moment of the machine falls on both."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Result:
    """Medians of seconds a call, and of the rounds' ratios ours / theirs."""

    title: str
    ours: float
    theirs: float
    ratio: float
    bar: float
    unit: str = "s"
    error: str = ""
    name: str = ""

    @property
    def met(self) -> bool:
        """Whether the bar is reached."""
        return not self.error and self.ratio <= self.bar


def thread_counts(threads: int) -> dict[str, str]:
    """The variables that the frameworks and their BLAS read at their start."""
    return {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL", "RUSHLIGHT")}


def environment(threads: int) -> dict[str, str]:
    """Ours, with the thread counts."""
    # Imports are timed as users see them, from compiled files.
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **thread_counts(threads), "PYTHONPATH": str(ROOT)}


class Worker:
    """One framework in a process of its own; a context manager that ends it."""

    def __init__(self, python: str, package: str, threads: int, cpu: bool = False) -> None:
        self.cpu = cpu
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", package],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(threads),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    def seconds(self, workload: str, count: int, settle: bool = False) -> float:
        """For `count` calls. RuntimeError with the worker's error, or if it has died."""
        asked = json.dumps({"workload": workload, "count": count, "settle": settle, "cpu": self.cpu})
        try:
            print(asked, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise RuntimeError(f"the worker ended (exit {self.process.wait()})") from None
        output: Any = self.process.stdout
        line = output.readline()
        if not line:
            raise RuntimeError(f"the worker ended (exit {self.process.wait()})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(answer["seconds"])


def warm(worker: Worker, workload: str, seconds: float) -> int:
    """Run for at least `seconds` (kernels get compiled meanwhile); the calls that a round takes."""
    count, spent, last = 1, 0.0, 0.0
    while spent < 4 * seconds or last < seconds / 2:
        last = worker.seconds(workload, count)
        spent += last
        if last < seconds / 2:
            count = min(count * 2, max(count + 1, int(count * seconds / max(last, 1e-9))))
    before, spent = math.inf, worker.seconds(workload, count, settle=True)
    while spent < max(seconds, before) / 2:  # the first calls take long, since they plan and compile
        if spent < seconds / 2:
            count = max(count + 1, min(count * 8, int(count * seconds / max(spent, 1e-9))))
        before, spent = spent, worker.seconds(workload, count, settle=True)
    return max(count, int(count * seconds / spent))


def both(stack: ExitStack, pythons: tuple[str, str]) -> tuple[Worker, Worker]:
    """Rushlight's worker and PyTorch's, one thread each, by the processor's time; the stack ends them."""
    ours, theirs = pythons
    return (
        stack.enter_context(Worker(ours, "rushlight", 1, cpu=True)),
        stack.enter_context(Worker(theirs, "torch", 1, cpu=True)),
    )


def least(name: str, workers: tuple[Worker, Worker], rounds: int, seconds: float) -> list[float]:
    """The least seconds of a call, ours and theirs, of rounds of about `seconds` in turn."""
    counts = [warm(worker, name, seconds) for worker in workers]
    times = [
        [worker.seconds(name, count) / count for worker, count in zip(workers, counts, strict=True)]
        for _ in range(rounds)
    ]
    return [min(each) for each in zip(*times, strict=True)]


def compare(
    name: str, title: str, bar: float, workers: tuple[Worker, Worker], rounds: int, seconds: float
) -> Result:
    """One workload on both, in turn."""
    try:
        counts = [warm(worker, name, seconds) for worker in workers]
        times = [
            [worker.seconds(name, count) / count for worker, count in zip(workers, counts, strict=True)]
            for _ in range(rounds)
        ]
    except RuntimeError as error:
        return Result(title, 0.0, 0.0, 0.0, bar, error=str(error)[:80])
    return Result(
        title,
        median(ours for ours, _ in times),
        median(theirs for _, theirs in times),
        median(ours / theirs for ours, theirs in times),
        bar,
        name=name,
    )


def fresh(python: str, code: str, threads: int = 2) -> float:
    """What a program printed last, a number, in a fresh process."""
    done = subprocess.run(
        [python, "-c", code],
        cwd=ROOT,
        env=environment(threads),
        text=True,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return float(done.stdout.split()[-1])


START = "import time; t = time.perf_counter(); import {} as torch; {}; print(time.perf_counter() - t)"


def start_time(pythons: tuple[str, str], rounds: int, bar: float, title: str, then: str) -> Result:
    """Seconds to import and then run a statement, in fresh processes, in turn."""
    times = [
        [
            fresh(python, START.format(package, then))
            for python, package in zip(pythons, ("rushlight", "torch"), strict=True)
        ]
        for _ in range(rounds + 1)
    ][1:]  # the first reads the files from the disk
    return Result(
        title, median(a for a, _ in times), median(b for _, b in times), median(a / b for a, b in times), bar
    )


SIZE = """
import importlib.metadata, os, re
seen, queue = {}, ROOTS
while queue:
    name = re.split(r"[ ;<>=!(~\\[]", queue.pop())[0].lower().replace("_", "-")
    if name not in seen:
        found = importlib.metadata.distribution(name)
        files = [found.locate_file(f) for f in found.files or () if "__pycache__" not in str(f)]
        seen[name] = sum(os.path.getsize(f) for f in files if os.path.exists(f))
        queue += [r for r in found.requires or () if ";" not in r]
print(sum(seen.values()) / 1e6)
"""


def installed_size(pythons: tuple[str, str], bar: float) -> Result:
    """Megabytes of the files of each package with all that it requires."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = sum(
        file.stat().st_size
        for file in (ROOT / "rushlight").rglob("*")
        if file.is_file() and "__pycache__" not in str(file)
    )
    ours = package / 1e6 + fresh(pythons[0], SIZE.replace("ROOTS", str(declared["dependencies"])))
    theirs = fresh(pythons[1], SIZE.replace("ROOTS", "['torch']"))
    return Result("installed size", ours, theirs, ours / theirs, bar, unit="MB")
