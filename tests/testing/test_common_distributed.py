"""Tests of several ranks written with torch.testing._internal's classes: processes, threads, DTensors, FSDP."""

from __future__ import annotations

import subprocess
import sys

from tests.distributed.jobs import PROGRAMS, environment

TOLD = """failed
  Processes.test_fails: Relative difference: inf
  Threads.test_fails: ValueError: a rank's own
skipped
  Processes.test_skips: Need at least 8 CUDA devices
  Threads.test_skips: Need at least 8 CUDA devices
run 12
"""


def test_ranks() -> None:
    command = [sys.executable, "-m", "rushlight", str(PROGRAMS / "ranks_of_tests.py")]
    settings = environment(RUSHLIGHT_CUDA="simulated:2x1GB")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, env=settings)
    assert ended.stdout == TOLD, ended.stderr
