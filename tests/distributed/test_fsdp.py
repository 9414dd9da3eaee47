"""FullyShardedDataParallel, fully_shard and DTensor, case by case against what PyTorch's ranks got; losses and memory
of whole trainings; checkpoints between worlds of different sizes.
"""

import json
import os
import sys

import pytest

pytest.importorskip("mpi4py")

import rushlight as torch
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.fsdp.layouts import Flat, Rows
from rushlight.distributed.fsdp.unit import Pages
from tests.distributed import jobs
from tests.distributed.cases import close, recorded, told

TWO, FOUR = recorded("fsdp"), recorded("fsdp4")


@pytest.fixture(scope="module")
def two():
    return told("fsdp_cases.py")


@pytest.mark.parametrize("case", sorted(TWO[0]))
def test_case(two, case):
    for found, wanted in zip(two, TWO, strict=True):
        assert close(found[case], wanted[case]), (found[case], wanted[case])


def test_no_case_is_missing(two):
    assert set(two[0]) == set(TWO[0])


def test_four_ranks_in_halves_and_with_empty_shards():
    for found, wanted in zip(told("fsdp_cases.py", "hybrid", "ragged", size=4), FOUR, strict=True):
        assert close(found, wanted)


def test_two_forwards_before_one_backward():
    for found in told("fsdp_cases.py", "sharded_forward_twice"):
        assert close(*found["sharded_forward_twice"])


def test_devices_train_as_the_cpu_does():
    found = {}
    for kind, setting in (("cpu", ""), ("cuda", "simulated:2x1GB")):
        command = [sys.executable, str(jobs.PROGRAMS / "fsdp_devices.py"), kind]
        ended = jobs.ranks(command, 2, 60.0, {rank: {"RUSHLIGHT_CUDA": setting} for rank in range(2)})
        assert [rank.code for rank in ended] == [0, 0], ended[0].err + ended[1].err
        found[kind] = [json.loads(rank.out) for rank in ended]
    for here, there in zip(found["cpu"], found["cuda"], strict=True):
        for way, told_here in here.items():
            assert there[way]["losses"] == pytest.approx(told_here["losses"], rel=1e-5)
            assert there[way]["state"] == pytest.approx(told_here["state"], rel=1e-5)


# --- whole trainings --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["ddp", "flat", "orig", "fully"])
def test_two_ranks_train_as_one_does_and_as_pytorch_does(way):
    answers, one = told("train.py", way, 50), recorded("train_one")[0]
    theirs = recorded(f"train_{'flat' if way == 'orig' else way}")
    for found, wanted in zip(answers, theirs, strict=True):
        assert found["losses"] == pytest.approx(wanted["losses"], abs=5e-5)
        assert found["losses"] == pytest.approx(one["losses"], abs=5e-5)
        assert found["norm"] == pytest.approx(wanted["norm"], abs=5e-5)
        share = 1 if way == "ddp" else 2
        assert found["parameters"] == pytest.approx(one["parameters"] / share, rel=0.02)
        assert found["states"] == pytest.approx(one["states"] / share, rel=0.02)


def test_compiled_programs_train_as_eager_ones():
    for found in told("compiled.py"):
        for way, losses in found.items():
            assert losses == pytest.approx(found["eager"], abs=1e-5), way


def test_a_checkpoint_goes_through_worlds_of_all_sizes(tmp_path):
    whole = recorded("train_one")[0]
    assert whole  # the same net and data, but unclipped: its own run of one rank is what counts
    one = told("dcp.py", "fully", tmp_path / "one", 8, False, size=1)[0]["losses"]
    losses = []
    for number, (way, size) in enumerate([("fully", 1), ("orig", 2), ("fully", 4), ("flat", 3)]):
        losses += told("dcp.py", way, tmp_path / "chain", 2, number > 0, size=size)[0]["losses"]
    assert losses == pytest.approx(one, abs=5e-5)
    names = sorted(os.listdir(tmp_path / "chain"))
    assert names[0] == ".metadata" and len(names) == 4 and all(n.endswith(".distcp") for n in names[1:])


# --- in one process ---------------------------------------------------------------------------------


def test_a_save_that_fails_leaves_the_checkpoint_that_was_there(tmp_path):
    dcp.save({"a": torch.ones(3), "n": 1}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="RANK 0"):
        dcp.save({"a": torch.zeros(3), "n": lambda: 0}, checkpoint_id=tmp_path)
    state = {"a": torch.zeros(3), "n": None}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["a"].tolist() == [1, 1, 1] and state["n"] == 1
    dcp.save({"a": torch.full((3,), 2.0)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"b": torch.zeros(3)}, "Missing key"),
        ({"a": torch.zeros(4)}, "Size mismatch"),
        ({"n": 0, "m": 0}, "Missing key"),
    ],
)
def test_a_checkpoint_that_does_not_fit(tmp_path, state, words):
    dcp.save({"a": torch.ones(3), "n": 1}, checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match=words):
        dcp.load(state, checkpoint_id=tmp_path)


def test_a_damaged_checkpoint_is_told(tmp_path):
    dcp.save({"a": torch.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / "__0_0.distcp").write_bytes(b"")
    with pytest.raises(dcp.CheckpointException):
        dcp.load({"a": torch.zeros(3)}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("layout", [Flat, Rows])
@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_layouts_put_together_what_they_cut(layout, world):
    tensors = [torch.randn(3, 4), torch.randn(7), torch.randn(1, 2, 2), torch.randn(4, 0)]
    shapes = [tuple(t.shape) for t in tensors]
    cuts = [layout(shapes, world, rank, 4) for rank in range(world)]
    shards = [cut.shard(tensors, torch.float32) for cut in cuts]
    assert len({shard.shape for shard in shards}) == 1
    for whole, t in zip(cuts[0].spread(torch.cat(shards)), tensors, strict=True):
        assert torch.equal(whole, t)
    pieces = [
        torch.cat([cut.pieces(shard)[n].reshape(-1) for cut, shard in zip(cuts, shards, strict=True)])
        for n in range(len(tensors))
    ]
    assert all(torch.equal(piece, t.reshape(-1)) for piece, t in zip(pieces, tensors, strict=True))


def test_pages_give_their_memory_back_and_keep_their_place():
    pages = Pages(1 << 22, torch.empty(0))
    place = pages.tensor.data_ptr()

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    pages.tensor.fill_(1.0)
    full = resident()
    pages.release()
    assert full - resident() > 12 << 20
    assert pages.tensor.data_ptr() == place


def test_casts_behind_the_wrapping_and_state_dicts_as_a_whole():
    for found, wanted in zip(told("casts.py"), recorded("casts"), strict=True):
        for case in wanted:
            assert close(found[case], wanted[case]), (case, found[case], wanted[case])
