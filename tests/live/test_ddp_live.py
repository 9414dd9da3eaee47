"""DistributedDataParallel and FSDP beside PyTorch with gloo: the recorded answers are PyTorch's, and both train alike."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("mpi4py")

from tests.distributed.cases import close, recorded, told
from tests.goldens.record_sharded import answers


@pytest.mark.parametrize("name", ["ddp", "fsdp", "fsdp4", "nn"])
def test_what_is_recorded_is_what_pytorch_answers(name):
    assert close(answers(name), recorded(name))


@pytest.mark.parametrize("way", ["ddp", "flat", "fully"])
def test_losses_are_the_same(way):
    ours, theirs = told("train.py", way, 50), told("train.py", way, 50, python=(sys.executable,), timeout=120)
    for found, wanted in zip(ours, theirs, strict=True):
        assert found["losses"] == pytest.approx(wanted["losses"], abs=5e-5)
        assert found["norm"] == pytest.approx(wanted["norm"], abs=5e-5)
