"""Remote calls between three workers; each prints what it has seen."""

import gc
import os
import time

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch import nn
from torch.distributed.nn import RemoteModule
from torch.distributed.optim import DistributedOptimizer

rank = int(os.environ["RANK"])


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, amount):
        self.value += amount
        return self.value

    @rpc.functions.async_execution
    def add_elsewhere(self, to, amount):
        return rpc.rpc_async(to, torch.add, (torch.ones(1), amount)).then(lambda f: f.wait() + self.value)


def fail():
    raise ValueError("a mistake of my own")


def read(reference):
    return reference.to_here()


def figures():
    return rpc.api._rref_context_get_debug_info()


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def calls():
    assert rpc.rpc_sync("worker1", torch.add, (torch.ones(2), 1)).tolist() == [2, 2]
    assert rpc.rpc_async(2, max, (3, 4)).then(lambda f: f.wait() * 2).wait() == 8
    assert rpc.rpc_sync(rpc.get_worker_info("worker0"), rpc.get_worker_info).id == 0
    kind, text = refused(rpc.rpc_sync, "worker1", fail)
    assert kind == "ValueError" and text.startswith("On WorkerInfo(id=1, name=worker1):\nValueError")
    assert "set timeout (100 ms)" in refused(rpc.rpc_sync, 1, time.sleep, (1,), timeout=0.1)[1]
    assert "Unknown destination" in refused(rpc.rpc_sync, "nobody", fail)[1]


def references():
    one = rpc.remote("worker1", Counter, (5,))
    assert str(one).startswith("UserRRef(RRefId = GloballyUniqueId(created_on=0, local_id=")
    assert one.rpc_sync().add(2) == 7 and one.rpc_async().add(1).wait() == 8
    assert one.remote().add(1).to_here() == 9
    assert one.rpc_sync().add_elsewhere("worker2", 3).tolist() == [13]
    value = rpc.remote("worker1", torch.full, ((2,), 4.0))
    assert rpc.rpc_sync("worker2", read, (value,)).tolist() == [4, 4]  # from one that only uses it
    assert rpc.rpc_sync("worker2", read, (rpc.RRef("here"),)) == "here"
    assert "can't call localValue() on user" in refused(value.local_value)[1]
    assert "can only be pickled when using RPC" in refused(__import__("pickle").dumps, value)[1]
    failed = rpc.remote("worker1", fail)
    assert refused(failed.to_here)[0] == "ValueError"
    del one, value, failed
    gc.collect()
    end = time.monotonic() + 10
    while rpc.rpc_sync("worker1", figures)["num_forks"] != "0" and time.monotonic() < end:
        time.sleep(0.05)
    assert rpc.rpc_sync("worker1", figures)["num_owner_rrefs"] == "0"


def gradients():
    a, b = torch.full((2,), 2.0, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    with dist_autograd.context() as context:
        product = rpc.rpc_sync("worker1", torch.mul, (a, b))
        total = rpc.rpc_sync("worker2", torch.add, (product, b)).sum()
        dist_autograd.backward(context, [total])
        found = dist_autograd.get_gradients(context)
        assert found[a].tolist() == [3, 3] and found[b].tolist() == [3, 3] and a.grad is None
    assert "Could not find autograd context" in refused(dist_autograd.get_gradients, context)[1]


def modules():
    module = RemoteModule("worker1/cpu", nn.Linear, (2, 1))
    optimizer = DistributedOptimizer(torch.optim.SGD, module.remote_parameters(), lr=0.1)
    before = [one.to_here().detach() for one in module.remote_parameters()]
    x = torch.tensor([[1.0, 2.0]])
    with dist_autograd.context() as context:
        dist_autograd.backward(context, [module(x).sum()])
        optimizer.step(context)
    after = [one.to_here().detach() for one in module.remote_parameters()]
    torch.testing.assert_close(after[0], before[0] - 0.1 * x)
    torch.testing.assert_close(after[1], before[1] - 0.1)
    assert refused(module.parameters)[0] == "ValueError"


assert "RPC has not been initialized" in refused(rpc.rpc_sync, 0, fail)[1]
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=3)
if rank == 0:
    for part in (calls, references, gradients, modules):
        part()
rpc.shutdown()
print("ended in order", flush=True)
