"""fully_shard of a model that tensor parallelism has cut: four ranks print what each got."""

import json
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    set_model_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(6, 10), nn.Linear(10, 6), nn.LayerNorm(6)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def build(mesh):
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), nn.Linear(6, 3))
    for block in model[:2]:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = build(mesh)
    lying = [f"{n} {p.placements} {tuple(p.to_local().shape)}" for n, p in model.named_parameters()]
    told = {"placements": lying}
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    losses = []
    for step in range(4):
        torch.manual_seed(10 * step + rank // 2)
        x = torch.randn(5, 6)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    told["losses"] = losses
    told["parts"] = [p.to_local().sum().item() for p in model.parameters()]
    told["wholes"] = [p.full_tensor().double().square().sum().item() for p in model.parameters()]
    where = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(where)
    dcp.save({"model": model.state_dict()}, checkpoint_id=where[0])
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    told["full"] = {k: v.sum().item() for k, v in full.items()}
    other = build(mesh)
    state = {"model": other.state_dict()}
    dcp.load(state, checkpoint_id=where[0])
    other.load_state_dict(state["model"])
    same = [p.full_tensor().equal(q.full_tensor()) for p, q in zip(model.parameters(), other.parameters())]
    third = build(mesh)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(third, full if rank == 0 else {}, options=options)
    same += [p.full_tensor().equal(q.full_tensor()) for p, q in zip(model.parameters(), third.parameters())]
    told["same"] = all(same)
    flat = mesh["dp", "tp"]._flatten("all")
    told["flat"] = [flat.mesh.tolist(), mesh["all"].size(), mesh["all"].get_local_rank()]
    print(json.dumps(told))
    dist.destroy_process_group()


main()
