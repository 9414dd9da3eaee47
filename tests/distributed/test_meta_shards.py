"""fully_shard of parameters on the meta device."""

import sys

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs


def test_values_come_later():
    program = [sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / "meta_shards.py")]
    ended = jobs.ranks(program, 2, timeout=60)
    assert [rank.out for rank in ended] == ["as without\n"] * 2, ended[0].err


def test_shards_that_lie_on_the_cpu():
    program = [sys.executable, str(jobs.PROGRAMS / "meta_offload.py")]
    (ended,) = jobs.ranks(program, 1, timeout=60, each={0: {"RUSHLIGHT_CUDA": "simulated:1x1GB"}})
    assert ended.out == "{'cpu'}\n", ended.err
