"""A process group's own methods, as hooks of DistributedDataParallel call them."""

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.nn.parallel import DistributedDataParallel


@pytest.fixture
def group():
    dist.init_process_group(rank=0, world_size=1, store=dist.HashStore())
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_methods_of_one_rank(group):
    x, z = torch.ones(2), torch.zeros(2)
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.MIN
    for given in ((), (dist.ReduceOp.MAX,), (options,)):
        assert group.allreduce([x], *given).wait()
    assert group.allreduce([x]).get_future().wait()[0] is x
    assert group.broadcast(x, 0).wait() and group.broadcast([x], dist.BroadcastOptions()).wait()
    for name, given in (
        ("allgather", ([[z]], [x])),
        ("gather", ([[z]], [x], dist.GatherOptions())),
        ("scatter", ([z], [[x]], dist.ScatterOptions())),
        ("reduce_scatter", ([z], [[x]])),
        ("_allgather_base", (z, x)),
        ("alltoall_base", (z, x, [], [])),
    ):
        z.zero_()
        assert getattr(group, name)(*given).wait() and z.tolist() == [1, 1]
    assert group.barrier().wait() and group.reduce([x], dist.ReduceOptions()).wait()
    assert group.allreduce_coalesced([x, z]).wait()
    with pytest.raises(RuntimeError, match="requires a single-element tensor list"):
        group.reduce([x, x])


def test_a_block_that_cannot_begin_collects_nothing(group, monkeypatch):
    class Broken:
        def device(self, index):
            return None

        def batch(self, *given):
            raise RuntimeError("no device")

    with monkeypatch.context() as only:
        only.setattr(group, "nccl", Broken())
        with pytest.raises(RuntimeError, match="no device"):
            with dist._coalescing_manager(device=torch.device("cpu")):
                pass
    assert group.coalesced is None


def test_a_sparse_bucket_has_no_views(group):
    found = []

    def hook(state, bucket):
        found.append(len(bucket.gradients()))
        return group.allreduce([bucket.buffer()]).get_future().then(lambda done: done.value()[0])

    model = torch.nn.Sequential(torch.nn.Embedding(4, 2, sparse=True), torch.nn.Linear(2, 1))
    net = DistributedDataParallel(model)
    net.register_comm_hook(None, hook)
    net(torch.tensor([1])).sum().backward()
    assert sorted(found) == [0, 2]


def test_in_a_hook(group):
    model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))

    def hook(state, bucket):
        return state.allreduce([bucket.buffer()]).get_future().then(lambda done: done.value()[0])

    model.register_comm_hook(group, hook)
    model(torch.tensor([[1.0, 2.0]])).sum().backward()
    assert model.module.weight.grad.tolist() == [[1, 2]]
