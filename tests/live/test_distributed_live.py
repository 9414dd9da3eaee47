"""torch.distributed beside PyTorch with gloo: the same programs, the same results."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("mpi4py")

from tests.distributed import jobs

SIZE = 3


def test_what_is_recorded_is_what_pytorch_answers(tmp_path):
    """The recorded answers are PyTorch's: tests/distributed/test_collectives.py holds ours to them."""
    ended = jobs.ranks(
        [sys.executable, str(jobs.PROGRAMS / "collectives.py"), str(tmp_path)], SIZE, timeout=120
    )
    assert all(rank.reached_its_end() for rank in ended), "\n".join(rank.err[-3000:] for rank in ended)
    found = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(SIZE)]
    recorded = json.loads(Path(jobs.PROGRAMS.parent / "recorded.json").read_text())
    assert {case: [answer[case] for answer in found] for case in found[0]} == recorded


@pytest.mark.parametrize("program", ["stores"])
def test_programs_print_the_same(tmp_path, program):
    run = [str(jobs.PROGRAMS / f"{program}.py"), str(tmp_path)]
    ours = jobs.ranks([sys.executable, "-m", "rushlight", *run], 1)[0]
    theirs = jobs.ranks([sys.executable, *run], 1)[0]
    assert ours.code == 0 and theirs.reached_its_end(), ours.err + theirs.err
    assert ours.out == theirs.out
