"""fully_shard that cuts some parameters along their second dim."""

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.fsdp import fully_shard
from rushlight.distributed.tensor import Shard

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), nn.Linear(3, 4))
mesh = init_device_mesh("cpu", (2,))


def place(p):
    return {(8, 6): Shard(1), (3, 8): Shard(-1)}.get(tuple(p.shape))


fully_shard(model[0], mesh=mesh, shard_placement_fn=place)
fully_shard(model, mesh=mesh, shard_placement_fn=place)
optimizer = torch.optim.AdamW(model.parameters(), 0.05)
for step in range(3):
    torch.manual_seed(10 * step + rank)
    loss = model(torch.randn(4, 6)).square().mean()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        print(f"{loss.item():.5f} {norm.item():.5f}")
for p in model.parameters():
    first = [round(v, 3) for v in p.full_tensor().flatten()[:3].tolist()]
    if rank == 0 and p.ndim == 2:
        print(p.placements[0], list(p.to_local().shape), p.to_local().stride(), first)
try:
    fully_shard(nn.Linear(3, 4), mesh=mesh, shard_placement_fn=lambda p: Shard(1) if p.ndim == 2 else None)
except NotImplementedError as error:
    print(error)
dist.destroy_process_group()
