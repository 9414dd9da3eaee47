"""Groups made by hand, several tensors for each rank, sparse sums and gradients. Each rank prints what it found."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import distributed_c10d as c10d

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def by_hand(path: str) -> dict[str, Any]:
    """Without init_process_group()."""
    options = c10d.ProcessGroupGloo._Options()
    options._timeout, options._threads = 20.0, 2
    options._devices = [c10d.ProcessGroupGloo.create_device(interface="lo")]
    if RANK == 0:  # a group that one rank alone makes is not counted
        c10d.ProcessGroupGloo(dist.HashStore(), 0, 1)
    pg = c10d.ProcessGroupGloo(dist.FileStore(path, SIZE), RANK, SIZE, options)
    dist.barrier(group=pg)
    found: dict[str, Any] = {"timeout": pg.options._timeout.total_seconds(), "default": dist.is_initialized()}
    x, y = torch.tensor([1.0 + RANK]), torch.tensor([10.0])
    future = pg.allreduce([x, y]).get_future()
    future.wait()
    found["allreduce"] = [t.item() for t in future.value()]
    given = [torch.tensor([RANK, 5]), torch.tensor([7, RANK])]
    how = c10d.BroadcastOptions()
    how.rootRank, how.rootTensor = 1, 1
    pg.broadcast(given, how).wait()
    found["broadcast"] = [t.tolist() for t in given]
    lists = [[torch.zeros(1) for _ in range(2 * SIZE)] for _ in range(2)]
    pg.allgather(lists, [torch.tensor([2.0 * RANK]), torch.tensor([2.0 * RANK + 1])]).wait()
    found["allgather"] = [[t.item() for t in each] for each in lists]
    whole = torch.zeros(SIZE)
    pg.allgather_into_tensor_coalesced([whole], [torch.tensor([float(RANK)])]).wait()
    found["coalesced"] = whole.tolist()
    other = c10d.ProcessGroupGloo(dist.FileStore(path + "2", SIZE), RANK, SIZE)
    other.broadcast(x, root=0).wait()
    found["another"] = x.item()
    return found


def sparse() -> dict[str, Any]:
    """A sparse sum, and an embedding's gradient under DistributedDataParallel."""
    mine = torch.sparse_coo_tensor([[RANK, 3]], [1.0, 2.0 + RANK], (4,))
    dist.all_reduce(mine)
    model = torch.nn.Sequential(torch.nn.Embedding(4, 2, sparse=True), torch.nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(1.0)
    net = torch.nn.parallel.DistributedDataParallel(model)
    net(torch.tensor([RANK])).sum().backward()
    grads = [p.grad for p in model.parameters()]
    return {
        "sum": [mine.is_coalesced(), mine.to_dense().tolist()],
        "gradients": [grads[0].is_sparse, grads[0].to_dense().tolist(), grads[1].tolist()],
        "future": type(dist.all_reduce_coalesced([torch.ones(1)], async_op=True)).__name__,
    }


if __name__ == "__main__":
    answer = by_hand(sys.argv[1])
    dist.init_process_group("gloo")
    answer |= sparse()
    print(json.dumps(answer))
    dist.destroy_process_group()
