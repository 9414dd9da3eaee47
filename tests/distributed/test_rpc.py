"""Calls of functions on other processes, references to values there, gradients through them."""

import sys

from tests.distributed import jobs


def test_three_workers():
    program = [sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / "remote_calls.py")]
    ended = jobs.ranks(program, 3, timeout=60)
    assert [rank.out for rank in ended] == ["ended in order\n"] * 3, ended[0].err + ended[1].err
