"""How fast 500 MB of tensors are saved and mapped: python -m benchmarks.saving [DIRECTORY] [--package torch]

Best and median of some rounds after two others, each in the stead of the last one's file, flushed to the
disk by whoever does that (Rushlight does, PyTorch does not); `copied` is how much the process's memory grew.
`the disk alone` is the same bytes written to a file and flushed, in turn with torch.save: who waits for the
disk can be no faster.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
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


def show(rounds: int, **calls: Callable[[], Any]) -> None:
    """Time the calls, which take turns, and print a line for each."""
    before = peak()
    found = [[timed(call) for call in calls.values()] for _ in range(rounds + 2)][2:]
    for name, seconds in zip(calls, zip(*found, strict=True), strict=True):
        print(
            f"{name:28} best {min(seconds) * 1e3:8.1f} ms  median {median(seconds) * 1e3:8.1f} ms  "
            f"copied {peak() - before:5.0f} MB",
            flush=True,
        )


def write(path: str, tensors: Iterable[Any]) -> None:
    """The tensors' bytes in a new file that takes the place of `path`, on the disk when this returns."""
    with open(f"{path}.new", "wb", buffering=0) as file:
        for tensor in tensors:
            file.write(memoryview(tensor.numpy()).cast("B"))
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


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
        alone, save = partial(write, f"{file}.raw", list(state.values())), partial(torch.save, state, file)
        show(asked.rounds, **{"the disk alone": alone, "torch.save": save})
        show(asked.rounds, **{"torch.load(mmap=True)": partial(torch.load, file, mmap=True)})
        if asked.package == "rushlight":
            made = torch.Checkpoint(os.path.join(folder, "run"), keep=1)
            show(asked.rounds, **{"Checkpoint.save": partial(made.save, 1, state=state)})
            show(asked.rounds, **{"Checkpoint.read(mmap=True)": partial(made.read, mmap=True)})
            show(asked.rounds, **{"Checkpoint.read, verified": made.read})
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
