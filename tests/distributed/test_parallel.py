"""Tensor parallelism: two ranks, with what PyTorch's print."""

import json
import sys
from pathlib import Path

from tests.distributed import jobs
from tests.distributed.cases import close, recorded, told

RECORDED = Path(__file__).parent / "recorded_parallel.json"


def test_two_ranks_share_models_by_plans():
    ended = jobs.ranks([sys.executable, str(jobs.PROGRAMS / "parallel.py")], 2, timeout=180.0)
    assert [one.code for one in ended] == [0, 0], ended[0].err + ended[1].err
    assert [one.out for one in ended] == json.loads(RECORDED.read_text())


def test_fully_shard_cuts_what_a_plan_has_cut():
    found = told("two_dims.py", size=4, timeout=180.0)
    assert close(found, recorded("two_dims"))
