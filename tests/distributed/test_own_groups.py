"""Process groups of a program's own classes: the functions call their methods, with PyTorch's options."""

import pytest
from rushlight.futures import Future

import rushlight as torch
from rushlight import distributed as dist


class Done(dist.Work):
    def __init__(self, result):
        super().__init__()
        self.future = Future()
        self.future.set_result(result)

    def wait(self, timeout=None):
        return True

    def get_future(self):
        return self.future


class Echo(dist.ProcessGroup):
    def getBackendName(self):
        return "Echo"

    def allreduce(self, tensors, opts=None):
        for tensor in tensors:
            tensor.mul_(3 if opts.reduceOp == dist.ReduceOp.SUM else 5)
        return Done(tensors)

    def allgather(self, outputs, inputs, opts=None):
        for found, given in zip(outputs, inputs, strict=True):
            for one in found:
                one.copy_(given)
        return dist._create_work_from_future(self.future_of(outputs))

    @staticmethod
    def future_of(value):
        future = Future()
        future.set_result(value)
        return future

    def broadcast(self, tensors, opts=None):
        tensors[0].add_(opts.rootRank)
        return Done(tensors)

    def gather(self, outputs, inputs, opts=None):
        for one in outputs[0] if outputs else ():
            one.copy_(inputs[0])
        return Done(outputs)

    def alltoall_base(self, output, input, received, sent, opts=None):
        output.copy_(input)
        self.sizes = received, sent
        return Done([output])

    def send(self, tensors, rank, tag=0):
        self.sent = rank, tag
        return Done(tensors)

    def barrier(self, opts=None):
        return Done(None)


@pytest.fixture
def group():
    dist.Backend.register_backend(
        "echo", lambda store, rank, size, timeout: Echo(rank, size), devices=["cpu"]
    )
    dist.init_process_group("echo", rank=0, world_size=2, store=dist.HashStore())
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_the_world_is_of_the_class(group):
    assert type(group) is Echo and (group.rank(), group.size(), group.name()) == (0, 2, "Echo")
    assert dist.get_backend() == "echo" and dist.is_backend_available("echo")
    assert type(dist.new_group([0])) is Echo and dist.get_world_size(dist.new_group([0])) == 1


def test_functions_call_its_methods(group):
    x = torch.ones(2)
    dist.all_reduce(x)
    work = dist.all_reduce(x, dist.ReduceOp.MAX, async_op=True)
    assert work.wait() and work.get_future().wait()[0] is x and x.tolist() == [15, 15]
    found = [torch.zeros(2) for _ in range(2)]
    dist.all_gather(found, x)
    assert torch.equal(found[1], x)
    dist.broadcast(x, 1)
    assert x.tolist() == [16, 16]
    dist.gather(x, found)
    assert torch.equal(found[0], x)
    dist.all_to_all_single(found[0], x)
    assert group.sizes == ([], [])
    dist.send(x, 1, tag=7)
    assert group.sent == (1, 7)
    dist.barrier()


def test_objects_go_as_its_tensors(group):
    found = [None, None]
    dist.all_gather_object(found, {"a": 1})
    assert found == [{"a": 1}] * 2


def test_what_it_has_not(group):
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.reduce(torch.ones(2), 0)
    with pytest.raises(ValueError, match="monitored_barrier is only implemented for GLOO"):
        dist.monitored_barrier()


def test_gradients_go_its_way():
    group = Echo(0, 1)
    ours = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2), process_group=group)
    ours(torch.ones(1, 2)).sum().backward()
    assert ours.module.bias.grad.tolist() == [3, 3]


def test_makers_that_are_told_all():
    told = []

    def made(options, more):
        told.append((options.group_rank, options.group_size, options.global_ranks_in_group, more))
        return Echo(options.group_rank, options.group_size)

    dist.Backend.register_backend("echoes", made, extended_api=True, devices=["cpu"])
    dist.init_process_group("echoes", rank=1, world_size=2, store=dist.HashStore(), pg_options="more")
    dist.destroy_process_group()
    assert told == [(1, 2, [0, 1], "more")]
    dist.Backend.register_backend("nothing", lambda *place: None, devices=["cpu"])
    with pytest.raises(TypeError, match="made a NoneType"):
        dist.init_process_group("nothing", rank=0, world_size=1, store=dist.HashStore())
