"""What a profiler adds to a training step: python -m benchmarks.profiling [--package torch] [--seconds 2]

Watched steps and others are timed in turn, so that a busy time of the machine falls on both; compared are
their lower quartiles. A profile begins and ends between the timings.
"""

from __future__ import annotations

import argparse
import time
from statistics import quantiles
from typing import Any

from benchmarks.worker import load, settle
from benchmarks.workloads import WORKLOADS

TURN = 4  # steps in a turn, after one that is not timed
STEPS = ("mlp_step", "cnn_step", "char_gpt_step")


def overhead(torch: Any, package: str, name: str, seconds: float) -> tuple[float, float, int]:
    """(seconds of a step, of a watched one, events in a step)."""
    torch.manual_seed(0)
    step = WORKLOADS[name].prepare(torch)
    times: list[float] = []
    watched: list[float] = []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds / 2 or len(times) < 5:
        times.append(timed(step))
    settle(package)
    times.clear()
    while time.perf_counter() - start < 1.5 * seconds or len(times) < 9:
        with torch.profiler.profile() as prof:
            step()
            watched += [timed(step) for _ in range(TURN)]
        step()
        times += [timed(step) for _ in range(TURN)]
    return quantiles(times)[0], quantiles(watched)[0], len(prof.events()) // (TURN + 1)


def timed(step: Any) -> float:
    """Seconds for one call."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each training step."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiling", description=__doc__)
    parser.add_argument("--package", default="rushlight", choices=("rushlight", "torch"))
    parser.add_argument("--seconds", type=float, default=4)
    asked = parser.parse_args()
    torch = load(asked.package)
    for name in STEPS:
        alone, watched, events = overhead(torch, asked.package, name, asked.seconds)
        print(
            f"{name:16} {alone * 1e3:8.2f} ms  with the profiler {100 * (watched / alone - 1):+6.1f} %  "
            f"({events} events)"
        )


if __name__ == "__main__":
    main()
