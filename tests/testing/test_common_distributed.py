"""Tests of several ranks written with torch.testing._internal's classes: processes, threads, DTensors, FSDP."""

from __future__ import annotations

import subprocess
import sys
import threading
import unittest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.testing._internal.common_distributed import spawn_threads_and_init_comms
from tests.distributed.jobs import PROGRAMS, environment

TOLD = """failed
  Processes.test_ends: none was told
  Processes.test_fails: Relative difference: inf
  Threads.test_fails: ValueError: a rank's own
  Threads.test_unready: ValueError: not ready
skipped
  Processes.test_skips: Need at least 8 CUDA devices
  Threads.test_skips: Need at least 8 CUDA devices
run 14
"""


def test_ranks() -> None:
    command = [sys.executable, "-m", "rushlight", str(PROGRAMS / "ranks_of_tests.py")]
    settings = environment(RUSHLIGHT_CUDA="simulated:2x1GB")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, env=settings)
    assert ended.stdout == TOLD, ended.stderr


def test_ranks_that_are_late_end_and_leave_the_process_its_group() -> None:
    may_end, waited, threads = threading.Event(), threading.Event(), list[threading.Thread]()

    class Late(unittest.TestCase):
        @spawn_threads_and_init_comms(world_size=2, timeout=0.5)
        def test_late(self) -> None:
            threads.append(threading.current_thread())
            if dist.get_rank() == 0:
                may_end.wait(60)
                return
            try:
                dist.barrier()
            finally:
                waited.set()

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        told = unittest.TestResult()
        Late("test_late").run(told)
        assert "timed out after 0.5 seconds" in told.errors[0][1]
        assert waited.wait(60)  # nobody waits for a rank that does not come
        may_end.set()
        for thread in threads:
            thread.join(60)
        dist.all_reduce(x := torch.ones(2))
        assert x.tolist() == [1, 1] and dist.get_backend() == "gloo"
    finally:
        dist.destroy_process_group()
