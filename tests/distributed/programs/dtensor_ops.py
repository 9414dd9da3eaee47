"""Ops of DTensors on two ranks, beside the same ops of whole tensors; prints what differed."""

import json

import torch
import torch.distributed as dist
from torch.distributed.tensor import DeviceMesh, DTensor, Partial, Replicate, Shard, distribute_tensor

WHOLE = torch.arange(8.0).reshape(4, 2)
NUMBERS = {
    "times a sum": lambda x: x * x.sum(),
    "less a mean": lambda x: x - x.mean(),
    "and a sum": lambda x: x + x.sum(),
    "a product of sums": lambda x: x.sum() * x.sum(),
    "in place": lambda x: x.clone().mul_(x.sum()),
    "and a number by name": lambda x: torch.add(x, other=1),
    "a quotient that is rounded": lambda x: torch.div(x, 2, rounding_mode="floor"),
}
NORMS = {
    f"norm {order}": lambda x, order=order: torch.norm(x, order) for order in (0, 1, 2, 3, "fro", "nuc")
} | {
    "smallest": lambda x: torch.linalg.vector_norm(x, -float("inf")),
    "largest": lambda x: torch.linalg.vector_norm(x, float("inf")),
    "plain": lambda x: x.norm(),
}
DIMS = {
    "flip by name": lambda x: x.flip(dims=[0]),
    "flip numbers": lambda x: x.flip(0, 1),
    "flip a tuple": lambda x: torch.flip(x, (0, 1)),
    "flip the last": lambda x: x.flip(-1),
    "roll": lambda x: x.roll(1, 0),
    "scan": lambda x: torch.cumsum(x, axis=0),
    "scan along the last": lambda x: torch.cumsum(x, 1),
    "softmax": lambda x: torch.softmax(x, axis=0),
    "softmax of a dim that is not told": lambda x: torch.nn.functional.softmax(x.unsqueeze(0)),
    "joined": lambda x: torch.cat([x, x], axis=1),
    "sum": lambda x: torch.sum(x, axis=0),
    "sorted": lambda x: torch.sort(-x, dim=0)[0],
}


def written(index, value):
    """A function that writes to a copy by an index."""

    def write(x):
        found = x.clone()
        found[index] = value
        return found

    return write


INDICES = {
    "a row": written(0, 9.0),
    "a column": written((slice(None), 1), 9.0),
    "all": written(..., 9.0),
    "rows by a list": written([0, 3], 9.0),
    "a list": lambda x: x[[3, 0, 1, 2]],
    "a list behind": lambda x: x[:, [1, 0]],
    "truth": lambda x: x[[True, False, True, True]],
    "slices": lambda x: x[1:, 0],
}


def ways(mesh, rank):
    """The tensor, as it may lie."""
    return [
        distribute_tensor(WHOLE, mesh, [Shard(0)]),
        distribute_tensor(WHOLE, mesh, [Shard(1)]),
        distribute_tensor(WHOLE, mesh, [Replicate()]),
        DTensor.from_local(WHOLE * (rank + 1) / 3, mesh, [Partial()]),
    ]


def differences(mesh, rank):
    """Of each op, where it gives other values than on the whole."""
    wrong = []
    for name, op in (NUMBERS | NORMS | DIMS | INDICES).items():
        wanted = op(WHOLE)
        for x in ways(mesh, rank):
            if op in INDICES.values() and x.placements[0].is_partial():
                continue
            found = op(x).full_tensor()
            if found.shape != wanted.shape or not torch.allclose(found, wanted, atol=1e-5):
                wrong.append(f"{name} of {x.placements}: {found.tolist()}")
    return wrong


def by_a_tensor(mesh, rank):
    """Rows and columns by a tensor of as many numbers."""
    wrong = []
    rows, columns = (distribute_tensor(torch.tensor(n), mesh, [Replicate()]) for n in ([3, 0, 1, 2], [1, 0]))
    for x in ways(mesh, rank):
        if not torch.allclose(x[rows].full_tensor(), WHOLE[[3, 0, 1, 2]]):
            wrong.append(f"rows of {x.placements}")
        if not torch.allclose(x[:, columns].full_tensor(), WHOLE[:, [1, 0]]):
            wrong.append(f"columns of {x.placements}")
    return wrong


def refused(mesh, rank):
    """What changes a tensor's shape in place, and a move to another mesh."""
    wrong = []
    other = DeviceMesh("cpu", [[0, 1]])
    calls = [
        lambda x: x.t_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.transpose_(0, 1),
        lambda x: x.resize_(8),
        lambda x: x.redistribute(other, [Replicate(), Replicate()]),
    ]
    for number, call in enumerate(calls):
        try:
            call(ways(mesh, rank)[0])
            wrong.append(f"call {number} is not refused")
        except NotImplementedError:
            pass
    return wrong


def gradients(mesh):
    """Of a mean and of a number that all ranks have."""
    wrong = []
    x = distribute_tensor(WHOLE, mesh, [Shard(0)]).requires_grad_()
    (x.mean() * x).sum().backward()
    if x.grad.full_tensor().tolist() != [[7.0, 7.0]] * 4:
        wrong.append(f"a mean: {x.grad}")
    number = distribute_tensor(torch.tensor(2.0), mesh, [Replicate()]).requires_grad_()
    (x.detach() * number).sum().backward()
    if number.grad.full_tensor().item() != 28:
        wrong.append(f"a number: {number.grad}")
    heard = []
    x = distribute_tensor(WHOLE, mesh, [Shard(0)]).requires_grad_()
    x.register_hook(lambda grad: heard.append(grad.full_tensor().tolist()) or grad * 2)
    (x * x).sum().backward()
    if heard != [(WHOLE * 2).tolist()] or not x.grad.full_tensor().equal(WHOLE * 4):
        wrong.append(f"a hook: {heard}, {x.grad}")
    return wrong


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = DeviceMesh("cpu", [0, 1])
    wrong = differences(mesh, rank) + by_a_tensor(mesh, rank) + refused(mesh, rank) + gradients(mesh)
    print(json.dumps(wrong))
    dist.barrier()
    dist.destroy_process_group()
