"""Options, levels of debugging, backends by device, and the groups and gathers that were added with them."""

import sys
from datetime import timedelta

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import options
from tests.distributed import jobs


def test_options_hold_pytorchs_defaults():
    unset = timedelta(milliseconds=-1)
    for name in options.__dict__:
        if name.endswith("Options") and not name.startswith("_"):
            made = getattr(dist, name)()
            assert made.timeout == unset and made.asyncOp is True, name
    assert dist.AllreduceOptions().reduceOp == dist.ReduceOp.SUM
    assert (dist.BroadcastOptions().rootRank, dist.ReduceOptions().rootTensor) == (0, 0)
    assert (dist.BarrierOptions().device_ids, dist.BarrierOptions().device) == ([], None)


def test_the_level_of_debugging(monkeypatch):
    monkeypatch.setattr(options, "_LEVEL", [])
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    dist.set_debug_level(dist.DebugLevel.INFO)
    assert dist.get_debug_level() == dist.DebugLevel.INFO == 1
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(ValueError, match="must be OFF, INFO, or DETAIL"):
        dist.set_debug_level_from_env()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gloo", "cpu:gloo,cuda:gloo"),
        ("nccl", "cuda:nccl"),
        ("cpu:gloo,cuda:NCCL", "cpu:gloo,cuda:nccl"),
        ("fake", "cpu:fake,cuda:fake,hpu:fake,xpu:fake"),
    ],
)
def test_backends_by_device(name, shown):
    config = dist.BackendConfig(name)
    assert repr(config) == str(config) == shown
    assert ",".join(f"{d}:{b}" for d, b in config.get_device_backend_map().items()) == shown


def test_backends_that_are_none():
    for wrong, why in (
        ("cpu:gloo,cpu:mpi", "Duplicate device type cpu"),
        ("a:b:c", "Invalid device:backend"),
        ("carrier-pigeon", "Unknown backend"),
    ):
        with pytest.raises(ValueError, match=why):
            dist.BackendConfig(wrong)


def test_older_names_of_reductions():
    with pytest.warns(FutureWarning, match="use `torch.distributed.ReduceOp` instead"):
        assert dist.reduce_op.SUM == dist.ReduceOp.SUM
    assert dist.supports_complex(dist.ReduceOp.SUM)
    assert not dist.supports_complex(dist.ReduceOp.MAX)


def test_gathers_and_parts_among_four_ranks(tmp_path):
    script = tmp_path / "parts.py"
    script.write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "r = dist.get_rank()\n"
        "given = [torch.full((2,), float(r)), torch.full((1, 3), r + 0.5)]\n"
        "found = [[torch.zeros_like(t) for t in given] for _ in range(4)]\n"
        "dist.all_gather_coalesced(found, given)\n"
        "assert [[t.flatten()[0].item() for t in row] for row in found] == [[q, q + 0.5] for q in range(4)]\n"
        "part = dist.split_group(split_ranks=[[2, 0], [1]])\n"
        "if r == 3:\n"
        "    assert part is dist.GroupMember.NON_GROUP_MEMBER\n"
        "else:\n"
        "    assert dist.get_process_group_ranks(part) == ([1] if r == 1 else [2, 0])\n"
        "    x = torch.tensor(r + 1.0)\n"
        "    dist.all_reduce(x, group=part)\n"
        "    assert x == (2 if r == 1 else 4), x\n"
        "    assert dist.get_rank(part) == {0: 1, 1: 0, 2: 0}[r]\n"
        "dist.barrier()\n"
    )
    ended = jobs.ranks([sys.executable, "-m", "rushlight", str(script)], 4, timeout=60)
    assert [rank.code for rank in ended] == [0] * 4, "\n".join(rank.err for rank in ended)


def test_a_group_of_one():
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        assert dist.get_rank(dist.split_group(split_ranks=[[0]])) == 0
        for wrong, why in ((None, "None or empty"), ([[]], "cannot be empty"), ([[0, 0]], "size should be")):
            with pytest.raises(ValueError, match=why):
                dist.split_group(split_ranks=wrong)
        with pytest.raises(RuntimeError, match="expected length 1, got 2"):
            dist.all_gather_coalesced([[torch.ones(1), torch.ones(1)]], [torch.ones(1)])
        with pytest.raises(TypeError, match="should be a list"):
            dist.all_gather_coalesced(torch.ones(1), [torch.ones(1)])
    finally:
        dist.destroy_process_group()
