"""How fast 500 MB of tensors are saved and mapped: python -m benchmarks.saving [DIRECTORY] [--package torch]

Best and median of some rounds, each into a new place, flushed to the disk by whoever does that (Rushlight does,
PyTorch does not); `copied` is how much the process's memory grew at its peak, in MB.
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


def show(name: str, calls: list[Callable[[], Any]]) -> None:
    """Time them, and print a line."""
    before = peak()
    seconds = [timed(call) for call in calls]
    print(f"{name:28} best {min(seconds) * 1e3:8.1f} ms  median {median(seconds) * 1e3:8.1f} ms  "
          f"copied {peak() - before:5.0f} MB", flush=True)


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
    paths = [os.path.join(folder, str(i)) for i in range(asked.rounds)]
    try:
        show("torch.save", [lambda p=p: torch.save(state, f"{p}.pt") for p in paths])  # type: ignore[misc]
        show("torch.load(mmap=True)", [lambda p=p: torch.load(f"{p}.pt", mmap=True)  # type: ignore[misc]
                                       for p in paths])
        if hasattr(torch, "Checkpoint"):
            made = [torch.Checkpoint(path) for path in paths]
            show("Checkpoint.save", [lambda c=c: c.save(1, state=state) for c in made])  # type: ignore[misc]
            show("Checkpoint.read(mmap=True)", [lambda c=c: c.read(mmap=True) for c in made])  # type: ignore[misc]
            show("Checkpoint.read, verified", [lambda c=c: c.read() for c in made])  # type: ignore[misc]
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
