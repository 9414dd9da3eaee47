"""NCCL's collectives on real devices, over imitations of the driver and of NCCL: one device for each rank.

Started as two ranks; the case is the first argument. Each prints what it found as JSON.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from typing import Any

os.environ["RUSHLIGHT_CUDA"] = "driver"

from rushlight._engine.devices.cuda.driver import nccl
from tests.cuda.fake_driver import FakeDriver, install
from tests.cuda.fake_nccl import FakeNccl

driver = FakeDriver(1, 1 << 28)
install(driver)
library = nccl.Override.library = FakeNccl(driver)

import rushlight as torch  # noqa: E402 - with these devices
import rushlight.distributed as dist  # noqa: E402

RANK = int(os.environ["RANK"])
Op = dist.ReduceOp


def there(*values: Any, dtype: Any = torch.float32) -> Any:
    """A tensor on the device."""
    return torch.tensor([v + RANK for v in values], dtype=dtype, device="cuda")


def reductions() -> dict[str, Any]:
    """Every reduction in every dtype that it is for."""
    found = {}
    dtypes = "float32 float64 float16 bfloat16 int8 uint8 int32 int64 complex64 float8_e5m2".split()
    for name in dtypes:
        for op in (Op.SUM, Op.AVG, Op.PRODUCT, Op.MIN, Op.MAX):
            if name.startswith("complex") and op not in (Op.SUM, Op.AVG):
                continue
            x = torch.tensor([v + RANK for v in (1.0, 2.0, 3.0)]).to(getattr(torch, name)).cuda()
            dist.all_reduce(x, op)
            kind = torch.complex64 if x.is_complex() else torch.float32
            found[f"{name} {op}"] = str(x.cpu().to(kind).tolist())
    x = torch.tensor([True, False, RANK == 0], device="cuda")
    dist.all_reduce(x)
    found["bool"] = x.tolist()
    x = there(1, 2)
    dist.all_reduce(x, dist._make_nccl_premul_sum(0.5))
    found["premul"] = x.tolist()
    x = there(1, 2)
    dist.reduce(x, 1)
    found["reduce"] = x.tolist()
    out = torch.empty(2, device="cuda")
    dist.reduce_scatter_tensor(out, there(1, 2, 3, 4))
    found["reduce_scatter_tensor"] = out.tolist()
    dist.reduce_scatter(out, [there(1, 2), there(3, 4)], Op.AVG)
    found["reduce_scatter"] = out.tolist()
    uneven = torch.empty(1 + RANK, device="cuda")
    dist.reduce_scatter(uneven, [there(1), there(2, 3)])
    found["uneven reduce_scatter"] = uneven.tolist()
    lying = [(torch.arange(8.0, device="cuda") + 8 * n + RANK).reshape(1, 2, 2, 2) for n in range(2)]
    lying = [t.to(memory_format=torch.channels_last) for t in lying]
    out = torch.empty_like(lying[0])
    dist.reduce_scatter(out, lying)
    with dist._coalescing_manager(device=torch.device("cuda", 0)):
        dist.reduce_scatter(other := torch.empty_like(out), lying)
    found["channels_last"] = [out.flatten().tolist(), other.flatten().tolist()]
    pair = [there(1), there(2, 3)]
    dist.all_reduce_coalesced(pair)
    found["coalesced"] = [t.tolist() for t in pair]
    return found


def moves() -> dict[str, Any]:
    """What only moves data."""
    x = there(1, 2)
    dist.broadcast(x, 1)
    parts = [torch.empty(2, device="cuda") for _ in range(2)]
    dist.all_gather(parts, there(5, 6))
    lying = torch.arange(8.0, device="cuda").reshape(1, 2, 2, 2).to(memory_format=torch.channels_last)
    laid = [torch.empty_like(lying), torch.empty(1, 2, 2, 2, device="cuda")]
    dist.all_gather(laid, lying)
    uneven = [torch.empty(n, device="cuda") for n in (1, 2)]
    dist.all_gather(uneven, there(*range(1 + RANK)))
    whole = torch.empty(2, 2, device="cuda")
    dist.all_gather_into_tensor(whole, there(7, 8))
    gathered = [torch.empty(1, device="cuda") for _ in range(2)] if RANK == 1 else None
    dist.gather(there(9), gathered, 1)
    scattered = torch.empty(1, device="cuda")
    dist.scatter(scattered, [there(1), there(2)] if RANK == 0 else None, 0)
    swapped = torch.empty(4, device="cuda")
    dist.all_to_all_single(swapped, there(1, 2, 3, 4))
    lists = [torch.empty(1 + RANK, device="cuda") for _ in range(2)]
    dist.all_to_all(lists, [there(1), there(2, 3)])
    wide = torch.empty(3, dtype=torch.complex64, device="cuda")
    wide.fill_(RANK + 1j)
    dist.broadcast(wide, 0)
    return {
        "broadcast": x.tolist(),
        "channels_last": [t.flatten().tolist() for t in laid],
        "all_gather": [t.tolist() for t in parts],
        "uneven all_gather": [t.tolist() for t in uneven],
        "all_gather_into_tensor": whole.tolist(),
        "gather": [t.item() for t in gathered or ()],
        "scatter": scattered.item(),
        "all_to_all_single": swapped.tolist(),
        "all_to_all": [t.tolist() for t in lists],
        "complex": str(wide.tolist()),
    }


def transfers() -> dict[str, Any]:
    """Single transfers, batches, coalescing, and objects."""
    other, x, y = 1 - RANK, there(1, 2), torch.zeros(2, device="cuda")
    if RANK == 0:
        dist.send(x, 1)
        sender = dist.recv(y, 1)
    else:
        sender = dist.recv(y, 0)
        dist.send(x, 0)
    found: dict[str, Any] = {"sent": y.tolist(), "sender": sender}
    z = torch.zeros(2, device="cuda")
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, z, other)])
    for work in works:
        work.wait()
    found["batch"] = [len(works), z.tolist()]
    found["collectives"] = dist.group.WORLD.queue.number  # transfers of some ranks are not counted among them
    many = [there(1), there(2)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for t in many:
            dist.all_reduce(t)
    manager.wait()
    found["coalesced"] = [t.item() for t in many]
    rows = [torch.empty(2, device="cuda") for _ in range(2)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for row, t in zip(rows, many, strict=True):
            dist.all_gather_into_tensor(row, t + RANK)
    manager.wait()
    found["gathered"] = [[len(manager.works)], *[row.tolist() for row in rows]]
    objects: list[Any] = [None, None]
    dist.all_gather_object(objects, {"rank": RANK, "text": "x" * (1 + 3 * RANK)})
    found["objects"] = objects
    sent = [{"a": 1}, "b"] if RANK == 0 else [None, None]
    dist.broadcast_object_list(sent)
    found["broadcast objects"] = sent
    taken: list[Any] = [None]
    dist.scatter_object_list(taken, ["p", "qq"] if RANK == 0 else None)
    gathered: list[Any] = [None, None]
    dist.gather_object(taken[0], gathered if RANK == 0 else None)
    found["scattered objects"] = [taken, gathered]
    if RANK == 0:
        dist.send_object_list(["to", 1], 1)
    else:
        dist.recv_object_list(gathered, 0)
    found["sent objects"] = gathered
    dist.barrier()
    return found


def works() -> dict[str, Any]:
    """What goes on beside other work."""
    x = there(1, 2)
    work = dist.all_reduce(x, async_op=True)
    found = {
        "wait": work.wait(),
        "done": work.is_completed(),
        "x": x.tolist(),
        "kind": isinstance(work, dist.Work),
    }
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] / 2)
    found["then"] = future.wait().tolist()
    both = [dist.all_reduce(there(1), async_op=True).get_future() for _ in range(2)]
    every = torch.futures.collect_all(both).then(lambda done: [f.value()[0] for f in done.value()])
    found["collected"] = [t.item() for t in every.wait()]
    group = dist.new_group([0, 1])
    y = there(3)
    dist.all_reduce(y, group=group)
    found["group"] = y.item()
    alone = dist.split_group(split_ranks=[[0], [1]])
    dist.all_reduce(y, group=alone)
    found["split"] = [y.item(), alone.size(), library.calls["ncclCommSplit"]]
    found["streams"] = driver.calls["cuStreamWaitEvent"] > 0
    return found


def errors() -> dict[str, Any]:
    """What is refused."""
    found = {}
    x = there(1, 2)
    tries = {
        "cpu": lambda: dist.all_reduce(torch.ones(1)),
        "band": lambda: dist.all_reduce(there(1, dtype=torch.int32), Op.BAND),
        "bool": lambda: dist.all_reduce(there(1, dtype=torch.bool), Op.AVG),
        "dtype": lambda: dist.broadcast(there(1, dtype=torch.int16), 0),
        "strides": lambda: dist.all_reduce(torch.ones(4, 4, device="cuda").t()[:, ::2]),
        "size": lambda: dist.all_gather_into_tensor(x, x),
        "premul": lambda: dist.all_reduce(x, Op.PREMUL_SUM),
        "several": lambda: dist.group.WORLD.allreduce([x, x]),
        "wire": lambda: dist.group.WORLD.wire.allreduce(None, "SUM"),
        "monitored": dist.monitored_barrier,
        "anybody": lambda: dist.recv(x),
    }
    for name, attempt in tries.items():
        try:
            attempt()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    library.refuses["ncclCommInitRank"] = (
        5,
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000",
    )
    try:
        dist.all_reduce(x, group=dist.new_group([0, 1]))
    except Exception as error:
        found["init"] = f"{type(error).__name__}: {error}"
    return found


def failure() -> dict[str, Any]:
    """Rank 1 goes without a word; rank 0 is told by whatever it does next."""
    x = there(1.0)
    dist.all_reduce(x)
    if RANK == 1:
        os._exit(3)
    begun, told = time.monotonic(), []
    for attempt in (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x), x.cpu):
        try:
            attempt()
            told.append("nothing")
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}")
    return {"told": told, "seconds": time.monotonic() - begun}


def sync_batch_norm() -> dict[str, Any]:
    """Batch norm of uneven batches, one of them empty the second time, and whole batches beside it."""
    whole = torch.arange(60.0).reshape(5, 3, 4).sin().cuda()
    net = torch.nn.BatchNorm1d(3).cuda()
    shared = torch.nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(net))
    found = {}
    for name, own in (("uneven", whole[:2] if RANK else whole[2:]), ("empty", whole[:0] if RANK else whole)):
        x, y = own.clone().requires_grad_(), whole.clone().requires_grad_()
        out, wanted = shared(x), net(y)
        (out * out.detach().cos()).sum().backward()
        (wanted * wanted.detach().cos()).sum().backward()
        rows = slice(0, len(own)) if RANK else slice(5 - len(own), 5)
        weight, other = shared.weight.grad, net.weight.grad
        weight = torch.zeros(3, device="cuda") if weight is None else weight.clone()
        dist.all_reduce(weight)
        found[name] = [
            torch.allclose(out, wanted[rows], atol=1e-6),
            x.grad is None if not len(own) else torch.allclose(x.grad, y.grad[rows], atol=1e-6),
            torch.allclose(weight, other, atol=1e-5),
            torch.allclose(shared.running_mean, net.running_mean),
            torch.allclose(shared.running_var, net.running_var),
        ]
        shared.zero_grad()
        net.zero_grad()
    return found


def ddp() -> dict[str, Any]:
    """A model whose gradients are averaged, with a parameter that is not always reached."""
    torch.manual_seed(0)
    model = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)]).cuda()

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = model

        def forward(self, x: Any) -> Any:
            return self.layers[1](self.layers[0](x).tanh())

    net = torch.nn.parallel.DistributedDataParallel(Net(), device_ids=[0], find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x = torch.arange(16.0).reshape(2, 2, 4).sin()[RANK].cuda()
    losses = []
    for _ in range(3):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, Op.AVG)
        losses.append(mean.item())
    return {"losses": losses, "weight": model[0].weight.sum().item()}


if __name__ == "__main__":
    dist.init_process_group("nccl")
    answer = globals()[sys.argv[1]]()
    print(json.dumps(answer))
    if sys.argv[1] not in ("failure", "errors"):
        dist.destroy_process_group()
        assert not library.live, library.live
