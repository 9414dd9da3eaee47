"""DistributedDataParallel among two ranks, case by case against what PyTorch's ranks got; and its parts alone."""

import pytest

pytest.importorskip("mpi4py")

import rushlight as torch
from rushlight.distributed.reducer import assign_buckets
from tests.distributed.cases import close, recorded, told

RECORDED = recorded("ddp")


@pytest.fixture(scope="module")
def answers():
    return told("ddp_cases.py")


@pytest.mark.parametrize("case", sorted(RECORDED[0]))
def test_case(answers, case):
    for found, wanted in zip(answers, RECORDED, strict=True):
        assert close(found[case], wanted[case]), (found[case], wanted[case])


def test_no_case_is_missing(answers):
    assert set(answers[0]) == set(RECORDED[0])


def test_buckets_close_when_they_are_full():
    tensors = [torch.zeros(n) for n in (10, 10, 100, 5, 5)]
    assert assign_buckets(tensors, [50, 400]) == [[0, 1], [2], [3, 4]]
    assert assign_buckets(tensors, [float("inf")]) == [[0, 1, 2, 3, 4]]
    assert assign_buckets([torch.zeros(1), torch.zeros(1).double(), torch.zeros(1)], [100]) == [[0, 2], [1]]


def test_errors_that_no_other_rank_sees():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    with pytest.raises(AttributeError):
        _ = torch.nn.parallel.nothing
