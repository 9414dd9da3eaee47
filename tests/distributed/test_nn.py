"""torch.distributed.nn among two ranks: results and gradients are those of PyTorch's ranks."""

import pytest

pytest.importorskip("mpi4py")

from tests.distributed.cases import close, recorded, told

RECORDED = recorded("nn")


@pytest.fixture(scope="module")
def answers():
    return told("nn_cases.py")


@pytest.mark.parametrize("case", sorted(RECORDED[0]))
def test_case(answers, case):
    for found, wanted in zip(answers, RECORDED, strict=True):
        assert close(found[case], wanted[case]), (found[case], wanted[case])
