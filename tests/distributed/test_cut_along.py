"""fully_shard's shard_placement_fn: two ranks, with PyTorch's numbers."""

import sys

from tests.distributed import jobs

FIRST = """0.34429 1.29082
0.04678 0.38433
0.02854 0.17591
S(1) [8, 3] (3, 1) [0.137, 0.18, -0.298]
S(1) [3, 4] (4, 1) [0.193, -0.134, -0.12]
S(0) [2, 3] (3, 1) [-0.687, 0.247, 0.041]
FSDP does not support uneven sharding on dim 1: torch.Size([4, 3]) (world size: 2)
"""


def test_parameters_are_cut_along_other_dims():
    ended = jobs.ranks([sys.executable, str(jobs.PROGRAMS / "cut_along.py")], 2, timeout=120.0)
    assert [one.code for one in ended] == [0, 0], ended[0].err + ended[1].err
    assert ended[0].out == FIRST
