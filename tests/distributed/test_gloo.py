"""ProcessGroupGloo made by hand, several tensors for each rank, sparse tensors; the backend that only pretends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import collective_utils, distributed_c10d as c10d
from tests.distributed.jobs import PROGRAMS, ranks


def test_two_ranks(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    ended = ranks([sys.executable, str(PROGRAMS / "gloo_cases.py"), str(tmp_path / "store")], 2, 90)
    assert [e.code for e in ended] == [0, 0], "\n".join(e.err[-2000:] for e in ended)
    first, second = (json.loads(e.out.splitlines()[-1]) for e in ended)
    assert (
        first
        == second
        == {
            "timeout": 20.0,
            "default": False,
            "allreduce": [23.0, 23.0],
            "broadcast": [[7, 1], [7, 1]],
            "allgather": [[0.0, 1.0, 2.0, 3.0]] * 2,
            "coalesced": [0.0, 1.0],
            "another": 23.0,
            "sum": [True, [1.0, 1.0, 0.0, 5.0]],
            "gradients": [True, [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]]],
            "future": "Future",
        }
    )


def test_errors_are_gloos() -> None:
    pg = c10d.ProcessGroupGloo(dist.HashStore(), 0, 1)
    x, wide, long = torch.ones(2), torch.ones(2).double(), torch.ones(3)
    how = c10d.BroadcastOptions()
    how.rootTensor = 1
    tries = {
        "broadcast: invalid root tensor: 1": lambda: pg.broadcast([x], how),
        "broadcast: invalid root rank: 1": lambda: pg.broadcast(x, root=1),
        "allreduce: requires non-empty tensor list": lambda: pg.allreduce([]),
        "allreduce: invalid tensor type at index 0": lambda: pg.allreduce([x, wide]),
        "allreduce: invalid tensor size at index 0": lambda: pg.allreduce([x, long]),
        "allreduce: invalid tensor layout": lambda: pg.allreduce([x, x.to_sparse()]),
        "allreduce: unsupported reduction operation": lambda: pg.allreduce(x.to_sparse(), dist.ReduceOp.MAX),
        "allreduce_coalesced: unsupported layout": lambda: pg.allreduce_coalesced([x.to_sparse()]),
        "scatter: Incorrect input list size 2": lambda: pg.scatter([x], [[x, x]]),
        "gather: requires a single-element output list": lambda: pg.gather([], [x]),
        "allgather: invalid output tensor list": lambda: pg.allgather([[x, x]], [x]),
        "allgather: requires input/output tensor lists": lambda: pg.allgather([[x], [x]], [x]),
        "allgather_coalesced: output lists should be": lambda: pg.allgather_coalesced([[x], [x]], [x]),
        "allgather_coalesced: invalid size of output": lambda: pg.allgather_coalesced([[long]], [x]),
        "send takes a single tensor": lambda: pg.send([x, x], 0, 0),
    }
    for words, attempt in tries.items():
        with pytest.raises(RuntimeError, match=words):
            attempt()


def test_the_fake_backend_has_the_sizes_of_many_ranks() -> None:
    dist.init_process_group("fake", rank=1, world_size=2, store=dist.HashStore())
    try:
        x, parts, part = torch.arange(4.0), [torch.zeros(4), torch.zeros(4)], torch.zeros(2)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        dist.all_reduce(half := torch.ones(2).half())
        assert half.tolist() == [1, 1]
        dist.all_gather(parts, x)
        dist.reduce_scatter_tensor(part, x)
        assert x.tolist() == parts[0].tolist() == parts[1].tolist() == [0, 1, 2, 3] and part.tolist() == [
            2,
            3,
        ]
        assert (dist.get_backend(), dist.get_rank(), dist.get_world_size()) == ("fake", 1, 2)
        assert dist.new_group([0, 1]).size() == 2
        into = torch.zeros(4)
        dist.all_to_all_single(into, x, [1, 3], [2, 2])
        dist.all_to_all_single(into[:3], x, [1, 2], [2, 2])  # what comes may be of another size
        pending = [dist.isend(x, 0).get_future() for _ in range(2)]
        assert torch.futures.collect_all(pending).wait() == pending
        watch = c10d._world.watch
        assert c10d.ProcessGroupGloo(dist.HashStore(), 0, 1).queue.watch is not watch
        assert c10d._world.watch is watch is dist.group.WORLD.queue.watch
    finally:
        dist.destroy_process_group()


def test_values_that_are_shared() -> None:
    assert collective_utils.broadcast(lambda: 3) == 3 and collective_utils.all_gather(4) == [4]
    with pytest.raises(RuntimeError, match="Rank 0 failed: stage s: exception .*by zero"):
        collective_utils.broadcast(lambda: 1 // 0, stage_name="s")
    with pytest.raises(RuntimeError, match="all_gather failed with exception .*by zero"):
        collective_utils.all_gather(lambda: 1 // 0)


def test_buckets_by_size() -> None:
    tensors = [torch.empty(50), torch.empty(25).double(), torch.empty(50), torch.empty(25).double()]
    assert dist._compute_bucket_assignment_by_size(tensors, [400]) == ([[0, 2], [1, 3]], [400, 400])
    found = dist._compute_bucket_assignment_by_size(tensors, [400], [True, False, False, False])
    assert found == ([[0], [1, 3], [2]], [0, 400, 400])


def test_names_of_stores_and_groups() -> None:
    store = dist.PrefixStore("a", dist.PrefixStore("b", inner := dist.HashStore()))
    assert store._underlying_non_prefix_store is inner
    assert not dist.TCPStore("localhost", 0, 1, True, use_libuv=False).libuvBackend
    assert c10d._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER) and not c10d._rank_not_in_group(None)
