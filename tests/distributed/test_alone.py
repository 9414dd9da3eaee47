"""One rank alone: needs no MPI, and does what a world of one does."""

import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest

import rushlight as torch
import rushlight.distributed as dist
from tests.distributed import jobs

WITHOUT_MPI = (
    "import sys; sys.modules['mpi4py'] = None\n"
    "import importlib.util as u; found = u.find_spec\n"
    "u.find_spec = lambda name, *more: None if name == 'mpi4py' else found(name, *more)\n"
    "import rushlight as torch, rushlight.distributed as dist\n"
)


@pytest.fixture
def alone():
    """A world of one rank."""
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_collectives_of_one_rank_copy(alone, dtype):
    x = torch.arange(4).to(dtype)
    kept = x.clone()
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    into, parts, scattered, exchanged = (
        torch.zeros_like(x),
        [torch.zeros_like(x)],
        torch.zeros_like(x),
        torch.zeros_like(x),
    )
    dist.all_gather_into_tensor(into, x)
    dist.all_gather(parts, x)
    dist.reduce_scatter_tensor(scattered, x)
    dist.all_to_all_single(exchanged, x)
    for found in (x, into, parts[0], scattered, exchanged):
        assert torch.equal(found, kept)


def test_average_of_one_and_handles(alone):
    x = torch.tensor([3.0, 5.0])
    work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert work.get_future().then(lambda done: done.value()[0].sum()).wait() == 8
    np.testing.assert_array_equal(x.numpy(), [3, 5])


def test_objects_groups_and_ranks(alone):
    found = [None]
    dist.all_gather_object(found, {"a": torch.ones(2)})
    assert torch.equal(found[0]["a"], torch.ones(2))
    group = dist.new_group([0])
    assert (dist.get_rank(group), dist.get_world_size(group), dist.get_backend(), dist.is_initialized()) == (
        0,
        1,
        "gloo",
        True,
    )
    dist.barrier(group)
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(torch.ones(1), 0)


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ({}, ValueError, "environment variable RANK expected, but not set"),
        ({"init_method": "tcp://127.0.0.1:1"}, ValueError, "rank parameter missing"),
        ({"init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1}, ValueError, "port number missing"),
        ({"init_method": "none://"}, RuntimeError, "No rendezvous handler for none://"),
        ({"backend": "nccl", "rank": 0, "world_size": 1}, RuntimeError, "doesn't have NCCL built in"),
        ({"backend": "foo", "rank": 0, "world_size": 1}, AssertionError, "Unknown backend type foo"),
        ({"store": dist.HashStore()}, AssertionError, "world_size must be positive if using store"),
        ({"store": dist.HashStore(), "init_method": "env://"}, AssertionError, "both init_method and store"),
        ({"timeout": 5}, TypeError, "Expected timeout argument to be of type datetime.timedelta"),
    ],
)
def test_mistakes_of_init(how, error, told, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(error, match=told):
        dist.init_process_group(**how)
    assert not dist.is_initialized()


@pytest.mark.parametrize("method", ["env://", "tcp://127.0.0.1:{port}", "file://{folder}/store"])
def test_ways_to_begin(method, tmp_path, monkeypatch):
    port = str(jobs.free_port())
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }.items():
        monkeypatch.setenv(name, value)
    ranks = {} if method == "env://" else {"rank": 0, "world_size": 1}
    dist.init_process_group(
        init_method=method.format(port=port, folder=tmp_path), timeout=timedelta(seconds=5), **ranks
    )
    assert dist.get_world_size() == 1
    dist.destroy_process_group()


def test_mpi_is_not_needed_alone():
    code = WITHOUT_MPI + (
        "assert dist.is_available() and not dist.is_mpi_available()\n"
        "dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())\n"
        "x = torch.ones(2); dist.all_reduce(x); print(x.tolist(), 'mpi4py.MPI' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=jobs.environment(), timeout=20
    )
    assert done.stdout == "[1.0, 1.0] False\n", done.stderr


def test_more_ranks_without_mpi_say_what_to_install():
    code = WITHOUT_MPI + "dist.init_process_group(rank=0, world_size=2, store=dist.HashStore())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=jobs.environment(), timeout=20
    )
    assert done.returncode == 1 and "pip install 'rushlight[dist]'" in done.stderr


def test_import_is_late():
    code = (
        "import sys, rushlight; print('rushlight.distributed' in sys.modules); rushlight.distributed.is_available();"
        "print('mpi4py' in sys.modules, 'rushlight.distributed.groups' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=jobs.environment(), timeout=20
    )
    assert done.stdout == "False\nFalse False\n", done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="Linux only")
def test_spawned_ranks(tmp_path):
    """torch.multiprocessing.spawn, the usual way in tutorials."""
    pytest.importorskip("mpi4py")
    script = tmp_path / "spawned.py"
    script.write_text(
        "import os, torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def work(rank, size, port):\n"
        "    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=port)\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=size)\n"
        "    x = torch.ones(3) * rank\n"
        "    dist.all_reduce(x)\n"
        "    assert x.tolist() == [1.0, 1.0, 1.0]\n"
        "    dist.destroy_process_group()\n"
        f"if __name__ == '__main__':\n    mp.spawn(work, (2, '{jobs.free_port()}'), nprocs=2)\n    print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", str(script)],
        capture_output=True,
        text=True,
        env=jobs.environment(),
        timeout=20,
    )
    assert done.stdout == "done\n", done.stderr


def test_into_one_tensor_and_timeouts(alone):
    x = torch.arange(3)
    whole, stacked = torch.zeros(3, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64)
    dist.gather_single(x, whole)
    dist.gather_into_tensor(x, stacked, group_dst=0)
    assert whole.tolist() == [0, 1, 2] and stacked.tolist() == [[0, 1, 2]]
    with pytest.raises(ValueError, match="gather_tensor must be specified on the destination rank"):
        dist.gather_single(x)
    with pytest.raises(ValueError, match="has 2 elements"):
        dist.gather_single(x, whole[:2])
    dist.set_timeout(timedelta(seconds=7))
    assert dist.group.WORLD.timeout == timedelta(seconds=7) and dist.group.WORLD.queue.timeout == 7
    with pytest.raises(TypeError, match="timedelta"):
        dist.set_timeout(7)
    with pytest.raises(ValueError, match="Invalid process group"):
        dist.set_timeout(timedelta(seconds=7), dist.GroupMember.NON_GROUP_MEMBER)


def test_profilers_see_collectives(alone):
    x = torch.ones(2, 3)
    with torch.autograd.profiler.profile(record_shapes=True) as profiled:
        dist.all_reduce(x)
        dist.broadcast(x.to(torch.complex64), 0, async_op=True).wait()
    found = [event for event in profiled.function_events if event.name.startswith("gloo:")]
    assert [(event.name, event.is_async, event.input_shapes) for event in found] == [
        ("gloo:all_reduce", True, [[2, 3]]),
        ("gloo:broadcast", True, [[2, 3, 2]]),
    ]
    assert not any(event.cpu_parent for event in found)
    assert any(row.key == "gloo:all_reduce" for row in profiled.key_averages())


def test_parts_of_a_wrappers_forward(alone):
    """A subclass may do forward() by the parts that DistributedDataParallel has, and override these."""
    seen = []

    class Own(torch.nn.parallel.DistributedDataParallel):
        def forward(self, *inputs, **kwargs):
            self.reducer._rebuild_buckets()
            inputs, kwargs = self._pre_forward(*inputs, **kwargs)
            return self._post_forward(self._run_ddp_forward(*inputs, **kwargs))

        def _sync_buffers(self):
            seen.append("buffers")
            super()._sync_buffers()

        def _run_ddp_forward(self, *inputs, **kwargs):
            seen.append("module")
            return self.module(*inputs, **kwargs)

    wrapped = Own(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)))
    for _ in range(2):
        wrapped(torch.randn(3, 2)).sum().backward()
    assert seen == ["buffers", "module"] * 2
    assert wrapped.module[0].weight.grad is not None
    with torch.no_grad():
        wrapped(torch.randn(3, 2))
    wrapped.reducer.prepare_for_backward([])
    wrapped.module(torch.randn(3, 2)).sum().backward()


def test_groups_are_found_by_name(alone):
    find = dist.distributed_c10d._resolve_process_group
    assert torch._C._distributed_c10d._resolve_process_group is find
    assert find(dist.group.WORLD.group_name) is dist.group.WORLD
    with pytest.raises(
        RuntimeError, match="^Could not resolve the process group registered under the name none$"
    ):
        find("none")


def test_the_count_of_groups_is_the_next_ones_name(alone):
    known = dist.distributed_c10d._world
    first, second = dist.new_group([0]), dist.new_group([0])
    dist.destroy_process_group(first)
    assert known.group_count == 3 and set(known.pg_names.values()) == {"0", "2"}
    assert known.pg_group_ranks[second] == {0: 0} and known.pg_map[second][0] == "gloo"
    known.group_count = 7
    assert dist.new_group([0]).group_name == "7" and known.group_count == 8
