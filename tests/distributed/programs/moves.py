"""DTensors of three ranks between all ways to lie, on a mesh of all and of two; prints what was wrong."""

import json
import os
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.tensor import DeviceMesh, DTensor, Partial, Replicate, Shard, distribute_tensor


def term(whole, rank, reduction):
    """This rank's term of a tensor."""
    if reduction == "avg":
        return whole + (rank - 1)
    return whole * (rank == 1) + (rank == 0) - (rank == 2) * 1.0


def moves(mesh, rank):
    """Uneven parts, and gradients that go the way back."""
    wrong = []
    whole = torch.arange(35.0).view(5, 7)
    everywhere = [Replicate()]
    ways = [Shard(0), Shard(1), Replicate(), Partial(), Partial("avg")]
    for source in ways:
        for target in ways[:3]:
            if source.is_partial():
                x = DTensor.from_local(term(whole, rank, source.reduce_op), mesh, [source])
            else:
                x = distribute_tensor(whole, mesh, [source])
            x.requires_grad_()
            found = x.redistribute(mesh, [target])
            there = distribute_tensor(whole, mesh, [target])
            if not torch.equal(found.to_local(), there.to_local()):
                wrong.append(f"{source} to {target}")
            gradient = distribute_tensor(whole * 2, mesh, [Shard(1)])
            found.backward(gradient)
            if not torch.equal(x.grad.redistribute(mesh, everywhere).to_local(), whole * 2):
                wrong.append(f"gradient of {source} to {target}")
    return wrong


def on_two(rank):
    """A mesh that rank 2 is not in."""
    wrong = []
    mesh = DeviceMesh("cpu", [0, 1])
    whole = torch.arange(12.0).view(4, 3)
    x = distribute_tensor(whole, mesh, [Shard(0)])
    wanted = whole[2 * rank : 2 * rank + 2] if rank < 2 else torch.empty(0)
    for found in (x, DTensor.from_local(wanted, mesh, [Shard(0)]), x + x - x):
        if not torch.equal(found.to_local(), wanted):
            wrong.append(f"rank {rank}: {found}")
    full = x.redistribute(mesh, [Replicate()]).to_local()
    if not torch.equal(full, whole if rank < 2 else torch.empty(0)):
        wrong.append(f"rank {rank}: {full}")
    return wrong


def saved(mesh):
    """A part in a file of torch.save."""
    x = torch.nn.Parameter(distribute_tensor(torch.arange(6.0), mesh, [Shard(0)]))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(x, os.path.join(folder, "x"))
        found = torch.load(os.path.join(folder, "x"))
    same = torch.equal(found.to_local(), x.to_local()) and found.placements == x.placements
    same = same and isinstance(found, torch.nn.Parameter)
    return [] if same and found.requires_grad and found.device_mesh == mesh else [str(found)]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = DeviceMesh("cpu", [0, 1, 2])
    print(json.dumps(moves(mesh, rank) + on_two(rank) + saved(mesh)))
    dist.barrier()
    dist.destroy_process_group()
