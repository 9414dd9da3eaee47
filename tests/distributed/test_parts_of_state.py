"""ZeroRedundancyOptimizer, ShardedGradScaler, checkpoint_wrapper, DTensors made in parts: two ranks, with PyTorch's numbers."""

import sys

from tests.distributed import jobs

FIRST = """['0.weight', '0.bias', '2.weight', '2.bias'] ['CheckpointWrapper', 'ReLU', 'CheckpointWrapper']
{told}
-1.6633 2
0.1 2
(5, 3) ({rows}, 3) [2.5, 2.5, 2.5, 2.5]
DTensor
[1.0, 1.0] 2.0
"""
REFUSED = (
    "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to=1)` on all "
    "ranks beforehand if you meant to save the global state."
)


def test_two_ranks_hold_parts():
    ended = jobs.ranks([sys.executable, str(jobs.PROGRAMS / "parts_of_state.py")], 2, timeout=120.0)
    assert [one.code for one in ended] == [0, 0], ended[0].err + ended[1].err
    assert ended[0].out == FIRST.format(told="[0.3111, 0.2285, -0.889, -0.352]", rows=3)
    assert ended[1].out == FIRST.format(told=REFUSED, rows=2)
