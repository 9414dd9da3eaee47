"""Operations that overlap in groups, threads and time."""

import sys

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs


@pytest.mark.parametrize("size", [2, 3])
def test_mixed(size):
    ended = jobs.ranks([sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / "mixed.py")], size)
    assert [(rank.code, rank.out) for rank in ended] == [(0, "fine\n")] * size, ended[0].err + ended[-1].err
