"""Starting the ranks of a test's program as plain processes, or by the launcher."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"


@dataclass
class Ended:
    """How a process ended: code, output, and after how many seconds."""

    code: int
    out: str
    err: str
    seconds: float

    def reached_its_end(self) -> bool:
        """Whether the program ran to its end.

        A thread that PyTorch itself did not join may abort an interpreter that is leaving, after the
        program's last line: seen once, on a busy machine.
        """
        aborted = self.code == -signal.SIGABRT and "terminate called without an active exception" in self.err
        return self.code == 0 or aborted


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK")
    }
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | more


def ranks(
    command: Sequence[str], size: int, timeout: float = 20.0, each: dict[int, dict[str, str]] | None = None
) -> list[Ended]:
    """Run the command as `size` independent ranks; how each ended. Whatever is left at the end is killed."""
    port, begun = str(free_port()), time.monotonic()
    made = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            | (each or {}).get(rank, {}),
        )
        for rank in range(size)
    ]
    try:
        ended = []
        for process in made:
            out, err = process.communicate(timeout=max(0.1, begun + timeout - time.monotonic()))
            ended.append(Ended(process.returncode, out, err, time.monotonic() - begun))
        return ended
    finally:
        for process in made:
            process.kill()


def launch(arguments: Sequence[str], timeout: float = 20.0, **more: str) -> Ended:
    """Run the launcher with these arguments."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "rushlight.run", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(**more),
    )
    return Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)


def in_shared_memory() -> set[str]:
    """Names of MPI's shared memory that are there."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("mpich_shm_")}


def left_in_shared_memory(before: set[str]) -> set[str]:
    """Names that are new and stay: those of jobs that other tests run meanwhile go when these end."""
    left, end = in_shared_memory() - before, time.monotonic() + 60
    while left and time.monotonic() < end:
        time.sleep(0.1)
        left &= in_shared_memory()
    return left
