"""Memory and compile time of a step, kernels that new sizes compile: numbers that fresh processes print."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator

from benchmarks.measure import ROOT, Result, environment

# The peak of five calls after five others, above what the process had before the first, in MB. Recording, in
# the first calls of a compiled step, takes more: its row says how much.
PEAK = """
import gc, sys
from benchmarks.worker import load, settle
from benchmarks import compiling
from benchmarks.workloads import WORKLOADS

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) / 1e3

def peak(calls):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    for _ in range(calls):
        call()
    return status("VmHWM") - before

package, name = sys.argv[1:3]
torch = load(package)
torch.manual_seed(0)
call = WORKLOADS[name].prepare(torch)
gc.collect()
before = status("VmRSS")
first = peak(5)
settle(package)
print(first, peak(5))
"""

# The first calls, after which a step replays, with an empty cache and with the one that they left.
COMPILE = """
import sys, time
from benchmarks import compiling
from benchmarks.worker import load
package, name = sys.argv[1:3]
torch = load(package)
if package == "torch":
    compiling.compiled = lambda torch, function, mode=None: torch.compile(function)
from benchmarks.workloads import WORKLOADS
call = WORKLOADS[name].prepare(torch)
start = time.perf_counter()
for _ in range(4):
    call()
print(time.perf_counter() - start)
"""

# Batches and sequences of other lengths, after a compiled model has replayed.
SIZES = """
from benchmarks.worker import load
torch = load("rushlight")
from benchmarks.compiling import _char_gpt
from rushlight._engine.kernels.emit import target
model, _, x, y = _char_gpt(torch)
called, assemble, made = torch.compile(model, mode="reduce-overhead"), target.assemble, []
target.assemble = lambda *given, **how: made.append(1) or assemble(*given, **how)
before = 0
for rows, columns in ((12, 64), (7, 64), (12, 48), (3, 5)):
    for _ in range(5):
        called(x[:rows, :columns].contiguous(), y[:rows, :columns].contiguous())[1].backward()
    before = before or len(made)
print(before, len(made) - before)
"""


def _numbers(python: str, code: str, *given: str, **variables: str) -> list[float]:
    done = subprocess.run(
        [python, "-c", code, *given],
        cwd=ROOT,
        env={**environment(2), **variables},
        text=True,
        check=True,
        capture_output=True,
        timeout=600,
    )
    return [float(word) for word in done.stdout.split()[-2:]]


def compile_times(
    pythons: tuple[str, str], workload: str, title: str, limits: tuple[float, float]
) -> Iterator[Result]:
    """Seconds of the first four calls, in fresh processes with an empty cache and with a full one, and what
    they may take; PyTorch's compiler has the whole step too.
    """
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        for cache, limit in zip(("an empty cache", "a full cache"), limits, strict=True):
            mine = _numbers(pythons[0], COMPILE, "rushlight", workload, RUSHLIGHT_CACHE_DIR=ours)[-1]
            other = _numbers(pythons[1], COMPILE, "torch", workload, TORCHINDUCTOR_CACHE_DIR=theirs)[-1]
            shown = f"{title}: first calls with {cache} (at most {limit:g} s)"
            yield Result(shown, mine, other, mine / other, limit / other)


def peak_memory(pythons: tuple[str, str], workload: str, title: str, bar: float) -> Result:
    """Megabytes of a step at most, in fresh processes; the second time, so that our cache is full."""
    ours, theirs = (
        [_numbers(python, PEAK, package, workload) for _ in range(2)][-1]
        for python, package in zip(pythons, ("rushlight", "torch"), strict=True)
    )
    title += f" (first calls {ours[0]:.0f} and {theirs[0]:.0f} MB)"
    return Result(title, ours[1], theirs[1], ours[1] / theirs[1], bar, unit="MB")


def new_sizes(python: str) -> Result:
    """Kernels that a compiled char_gpt compiles for batches and sequences of other lengths: no bar but 0."""
    first, more = _numbers(python, SIZES, RUSHLIGHT_CACHE="0", PATH=os.environ["PATH"])
    return Result(f"kernels compiled for new sizes, after {first:.0f}", more, 0.0, more, 0.0, unit="kernels")
