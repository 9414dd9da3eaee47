"""Collectives with gradients, for two ranks: prints {case: what this rank got}. Runs under both frameworks."""

import json

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as F


def cases(rank):
    def leaf(*sizes):
        return (
            torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) + 10 * rank + 1
        ).requires_grad_()

    x, y = leaf(3), leaf(2, 3)
    w = torch.tensor([1.0, 2.0, 3.0]) * (rank + 1)
    yield "all_reduce", [x], F.all_reduce(x * 1) * w
    yield "all_reduce max", [x], F.all_reduce(x * 1, op=dist.ReduceOp.PRODUCT) * w
    yield "all_gather", [x], torch.stack(F.all_gather(x)) * torch.stack([w, w**2])
    yield "all_gather strided", [y], torch.cat(F.all_gather(y.t())) ** 2 * (rank + 1)
    yield "broadcast", [x], F.broadcast(x, 1) * w
    yield "reduce", [x], F.reduce(x, 0) * w * (rank == 0)  # gloo leaves anything on the others
    yield "gather", [x], torch.stack(F.gather(x, 1)) * torch.stack([w, w**2])
    yield "scatter", [x, y], F.scatter([x, y[0]], 0) * w
    yield "reduce_scatter", [x, y], F.reduce_scatter(torch.empty(3), [x, y[1]]) * w
    yield "all_to_all", [x, y], torch.cat(F.all_to_all([torch.empty(3), torch.empty(3)], [x, y[0]])) ** 2
    sizes = [1, 2] if rank == 0 else [2, 1]
    yield "single", [x], F.all_to_all_single(torch.empty(3), x, [1, 2] if rank == 0 else [2, 1], sizes) * w


if __name__ == "__main__":
    dist.init_process_group("gloo")
    found = {}
    for name, leaves, result in cases(dist.get_rank()):
        grads = torch.autograd.grad(result.sum(), leaves, allow_unused=True)
        found[name] = [result.tolist(), [None if g is None else g.tolist() for g in grads]]
    print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()
