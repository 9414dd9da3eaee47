"""Tests of several ranks written with torch.testing._internal's classes: processes, threads, DTensors, FSDP."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.distributed.jobs import PROGRAMS, environment

TOLD = """failed
  Processes.test_fails: Relative difference: inf
  Threads.test_fails: ValueError: a rank's own
skipped
  Processes.test_skips: Need at least 8 CUDA devices
  {shards}Threads.test_skips: Need at least 8 CUDA devices
run 12
"""


@pytest.mark.parametrize("devices", ["off", "simulated:2x1GB"])
def test_ranks(devices: str) -> None:
    command = [sys.executable, "-m", "rushlight", str(PROGRAMS / "ranks_of_tests.py")]
    settings = environment(RUSHLIGHT_CUDA=devices)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, env=settings)
    shards = "Shards.test_fully_shard: Need at least 2 CUDA devices\n  " if devices == "off" else ""
    assert ended.stdout == TOLD.format(shards=shards), ended.stderr
