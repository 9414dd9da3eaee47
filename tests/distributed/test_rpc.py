"""Calls of functions on other processes, references to values there, gradients through them."""

import sys

import pytest

from tests.distributed import jobs


@pytest.mark.parametrize(("name", "size"), [("remote_calls", 3), ("remote_gradients", 2), ("remote_ends", 1)])
def test_workers(name: str, size: int) -> None:
    program = [sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / f"{name}.py")]
    ended = jobs.ranks(program, size, timeout=60)
    said = "".join(rank.err for rank in ended)
    assert [rank.out for rank in ended] == ["ended in order\n"] * size, said
    assert "Traceback" not in said or name == "remote_calls", said
