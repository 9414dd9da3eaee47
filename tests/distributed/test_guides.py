"""The guides' distributed programs, started as the guides say, print PyTorch's losses."""

import json

import pytest

pytest.importorskip("mpi4py")

from tests.distributed import jobs
from tests.distributed.cases import close, recorded

PYTORCHS = recorded("guides")


@pytest.fixture(scope="module")
def found():
    ended = jobs.launch(
        ["--nproc_per_node=2", f"--master-port={jobs.free_port()}", str(jobs.PROGRAMS / "guides.py")],
        timeout=60,
    )
    assert ended.code == 0, ended.err
    return json.loads(next(line for line in ended.out.splitlines() if line.startswith("{")))


@pytest.mark.parametrize("guide", sorted(PYTORCHS))
def test_guide(found, guide):
    if guide == "E":  # computed in bfloat16
        assert found[guide] == pytest.approx(PYTORCHS[guide], rel=2**-8)
    else:
        assert close(found[guide], PYTORCHS[guide])
