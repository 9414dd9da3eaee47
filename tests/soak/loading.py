"""A long run of the DataLoader: batches through workers by the hundred thousand, and nothing may grow.

    python tests/soak/loading.py [--batches 200000] [--workers 2]

No part of the ordinary tests: it takes some minutes. Epochs take turns in seven ways (processes that stay, new
ones each time, threads, left half-way, a worker killed by SIGKILL, an error in a worker). Printed as it goes on:
memory of this process and of its workers, file descriptors, child processes, threads. Ends with status 1 if one
of them has grown since the first twentieth of the run.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# The compiler, loaded when a kernel has become hot, would look like memory that has grown.
os.environ.setdefault("RUSHLIGHT_KERNELS", "numpy")

import rushlight as torch
from rushlight.utils.data import DataLoader, Dataset, TensorDataset

BATCH, LENGTH = 16, 16 * 500
# Memory may move by this much: allocators keep what they once had.
SLACK_MB = 12.0


class Items(Dataset):
    """Samples of mixed kinds, made one by one; asked for `bad`, an error."""

    def __init__(self, bad: int = -1) -> None:
        self.values, self.bad = torch.arange(LENGTH * 8, dtype=torch.float32).view(LENGTH, 8), bad

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, i: int) -> Any:
        if i == self.bad:
            raise KeyError(f"sample {i}")
        return {"x": self.values[i], "y": i, "name": str(i)}


def checked(batches: Iterator[Any], most: int = LENGTH) -> Iterator[int]:
    """One for each batch, whose values must belong together."""
    for _, batch in zip(range(most), batches):
        x, y = (batch["x"], batch["y"]) if isinstance(batch, dict) else batch
        if not torch.equal(x[:, 0], y.float() * 8):
            raise SystemExit(f"a batch is wrong: {x[:, 0]} beside {y}")
        yield 1


def plain() -> TensorDataset:
    return TensorDataset(Items().values, torch.arange(LENGTH))


def children() -> list[int]:
    """The processes that this one started."""
    return [
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    ]


def killed(loader: Any) -> int:
    """Part of an epoch, in which a worker dies; what came before counts."""
    others = set(children())
    done, batches = 0, iter(loader)
    try:
        for done in range(1, LENGTH):
            next(batches)
            if done == 100:
                os.kill(random.choice(list(set(children()) - others)), signal.SIGKILL)
    except RuntimeError as error:
        if "exited unexpectedly" not in str(error):
            raise
        return done
    raise SystemExit("a killed worker was not told")


def failing(loader: Any) -> int:
    """An epoch that ends with an error of the dataset's."""
    done = 0
    try:
        for done in checked(loader):
            done += 1
    except KeyError:
        return done
    raise SystemExit("an error in a worker was not told")


def ways(workers: int) -> list[Callable[[], int]]:
    """Epochs of each kind; each gives the number of its batches."""
    options = {"batch_size": BATCH, "shuffle": True, "num_workers": workers}
    stays = DataLoader(Items(), persistent_workers=True, **options)
    rows = DataLoader(plain(), persistent_workers=True, **options)
    fresh = DataLoader(Items(), **options)
    threads = DataLoader(Items(), worker="thread", **options)

    def mortal() -> int:
        return killed(DataLoader(Items(), persistent_workers=True, **options))

    return [
        lambda: sum(checked(stays)),
        lambda: sum(checked(rows)),
        lambda: sum(checked(fresh)),
        lambda: sum(checked(threads)),
        lambda: sum(checked(iter(fresh), 150)),
        lambda: sum(checked(stays, 120)),
        mortal,
        lambda: failing(DataLoader(Items(bad=random.randrange(LENGTH)), **options)),
    ]


def measured() -> dict[str, float]:
    """What may not grow; memory in MB."""
    gc.collect()
    pids = ["self", *map(str, children())]
    memory = (
        sum(
            int(line.split()[1])
            for pid in pids
            for line in _lines(f"/proc/{pid}/smaps_rollup")
            if line.startswith("Pss:")
        )
        / 1024
    )
    return {
        "memory": memory,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(pids) - 1,
        "threads": threading.active_count(),
        "mappings": len(_lines("/proc/self/maps")),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:  # it has just ended
        return []


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    kinds, done, epochs, begun = ways(options.workers), 0, 0, time.perf_counter()
    shown, first, found = 0, {}, {}
    while done < options.batches:
        for kind in kinds:
            done += kind()
            epochs += 1
        found = measured()
        if not first and done >= options.batches / 20:
            first = found
        if done >= shown:
            shown += options.batches // 20
            print(
                f"{done:8} batches, {epochs:5} epochs, {time.perf_counter() - begun:6.0f} s: "
                + ", ".join(f"{name} {value:.1f}" for name, value in found.items()),
                flush=True,
            )
    grown = [
        name
        for name, value in found.items()
        if value > first[name] + (SLACK_MB if name == "memory" else 2 if name == "mappings" else 0)
    ]
    print("grown: " + (", ".join(grown) or "nothing"))
    return 1 if grown else 0


if __name__ == "__main__":
    raise SystemExit(main())
