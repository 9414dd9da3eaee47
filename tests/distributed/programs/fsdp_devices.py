"""Three steps by each way of sharding, on the device that is named: losses, and the whole state, as JSON."""

import json
import os
import sys

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.fsdp import (
    CPUOffload,
    CPUOffloadPolicy,
    FullyShardedDataParallel as FSDP,
    MixedPrecision,
    StateDictType,
    fully_shard,
)
from rushlight.nn.parallel import DistributedDataParallel as DDP

KIND, RANK = sys.argv[1], int(os.environ["RANK"])
WHERE = torch.device("cuda", RANK) if KIND == "cuda" else torch.device("cpu")


def model():
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Linear(16, 16))
    made[3].weight = made[2].weight
    return made


def sharded(**options):
    return FSDP(model(), device_id=RANK if KIND == "cuda" else WHERE, **options)


def rows():
    made = model().to(WHERE)
    fully_shard(made[0])
    return fully_shard(made)


def moved(wrap):
    """Wrapped in the CPU's memory, an inner part by itself, and moved then."""
    made = model()
    made[0] = wrap(made[0])
    return wrap(made).to(WHERE)


def offloaded():
    """Shards in the CPU's memory."""
    made = model()
    options = {} if KIND == "cuda" else {"mesh": init_device_mesh("cpu", (2,))}
    fully_shard(made[0], offload_policy=CPUOffloadPolicy(), **options)
    return fully_shard(made, offload_policy=CPUOffloadPolicy(), **options)


WAYS = {
    "moved": lambda: moved(lambda m: FSDP(m, device_id=None if KIND == "cuda" else WHERE)),
    "moved orig": lambda: moved(
        lambda m: FSDP(m, use_orig_params=True, device_id=None if KIND == "cuda" else WHERE)
    ),
    "offload": lambda: sharded(cpu_offload=CPUOffload(offload_params=True)),
    "offload fully": offloaded,
    "flat": sharded,
    "orig": lambda: sharded(use_orig_params=True),
    "mixed": lambda: sharded(mixed_precision=MixedPrecision(torch.bfloat16, torch.float32)),
    "fully": rows,
    "ddp": lambda: DDP(model().to(WHERE), device_ids=[RANK] if KIND == "cuda" else None),
}


def trained(way):
    made = WAYS[way]()
    optimizer, losses = torch.optim.AdamW(made.parameters(), 0.05), []
    x = torch.linspace(-1, 1, 32).view(4, 8) * (RANK + 1)
    for _ in range(3):
        loss = made(x if way != "ddp" else x.to(WHERE)).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    place = torch.device("cpu") if way.startswith("offload") else WHERE
    assert all(p.device == place for p in made.parameters())
    if way == "fully":
        part = next(made.parameters()).detach().cpu()
        assert part.device.type == "cpu" and part.placements == next(made.parameters()).placements
    state = {}
    if isinstance(made, FSDP):
        with FSDP.state_dict_type(made, StateDictType.FULL_STATE_DICT):
            state = {name: value.double().sum().item() for name, value in made.state_dict().items()}
        FSDP.optim_state_dict_to_load(made, optimizer, FSDP.optim_state_dict(made, optimizer))
    return {"losses": losses, "state": state}


if KIND == "cuda":
    torch.cuda.set_device(RANK)
dist.init_process_group("nccl" if KIND == "cuda" else "gloo")
print(json.dumps({way: trained(way) for way in WAYS}))
dist.destroy_process_group()
