"""How fast 500 MB of tensors are saved and mapped: python -m benchmarks.saving [DIRECTORY] [--package torch]

Best and median of some rounds after two others, each in the stead of the last one's file, flushed to the
disk by whoever does that (Rushlight does, PyTorch does not); `copied` is how much the process's memory grew.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.worker import load

MEGABYTES = 500


def timed(call: Callable[[], Any]) -> float:
    """Seconds for one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak() -> float:
    """The process's largest size so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(name: str, rounds: int, call: Callable[[], Any]) -> None:
    """Time the calls, and print a line."""
    before = peak()
    seconds = [timed(call) for _ in range(rounds + 2)][2:]
    print(
        f"{name:28} best {min(seconds) * 1e3:8.1f} ms  median {median(seconds) * 1e3:8.1f} ms  "
        f"copied {peak() - before:5.0f} MB",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saving", description=__doc__)
    parser.add_argument("directory", nargs="?", help="where to write (default: a temporary directory)")
    parser.add_argument("--package", default="rushlight", choices=("rushlight", "torch"))
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    torch = load(asked.package)
    folder = tempfile.mkdtemp(dir=asked.directory)
    state = {f"layer{i}.weight": torch.randn(MEGABYTES // 20, 250_000) for i in range(20)}
    file = os.path.join(folder, "a.pt")
    try:
        show("torch.save", asked.rounds, lambda: torch.save(state, file))
        show("torch.load(mmap=True)", asked.rounds, lambda: torch.load(file, mmap=True))
        if asked.package == "rushlight":
            made = torch.Checkpoint(os.path.join(folder, "run"), keep=1)
            show("Checkpoint.save", asked.rounds, lambda: made.save(1, state=state))
            show("Checkpoint.read(mmap=True)", asked.rounds, lambda: made.read(mmap=True))
            show("Checkpoint.read, verified", asked.rounds, lambda: made.read())
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
