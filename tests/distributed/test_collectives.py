"""Every collective, dtype and mistake among three ranks, against what PyTorch 2.13 with gloo answered.

recorded.json was written by the same program under PyTorch: tests/live/test_distributed_live.py runs it again.
"""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs

SIZE = 3
RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each rank's cases gave: one run of the program."""
    folder = tmp_path_factory.mktemp("collectives")
    program = [sys.executable, "-m", "rushlight", str(jobs.PROGRAMS / "collectives.py"), str(folder)]
    ended = jobs.ranks(program, SIZE, timeout=60)
    assert [rank.code for rank in ended] == [0] * SIZE, ended[0].err
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(SIZE)]


@pytest.mark.parametrize("case", sorted(RECORDED))
def test_case(answers, case):
    found = [answer[case] for answer in answers]
    if (
        isinstance(RECORDED[case][0], str)
        and "Error: " in RECORDED[case][0]
        and "incompatible" in RECORDED[case][0]
    ):
        found = [text.partition(":")[0] for text in found]  # pybind11's own words
        assert found == [text.partition(":")[0] for text in RECORDED[case]]
    else:
        assert found == RECORDED[case]


def test_no_case_is_missing(answers):
    assert set(answers[0]) == set(RECORDED)
