"""fully_shard on one simulated CUDA device: parameters on the meta device whose shards lie on the CPU."""

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from rushlight.distributed.fsdp import CPUOffloadPolicy, fully_shard


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
plain = net()
with torch.device("meta"):
    model = net()
for layer in (model[0], model[2], model):
    fully_shard(layer, offload_policy=CPUOffloadPolicy())
model.to_empty(device="cpu")
options = StateDictOptions(full_state_dict=True, cpu_offload=True)
set_model_state_dict(model, plain.state_dict(), options=options)
x = torch.randn(3, 4)
optimizers = [torch.optim.Adam(m.parameters(), 0.1) for m in (model, plain)]
for _ in range(2):
    losses = [model(x.cuda()).square().sum().cpu(), plain(x).square().sum()]
    torch.testing.assert_close(*losses)
    for loss, optimizer in zip(losses, optimizers, strict=True):
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print({str(p.device) for p in model.parameters()})
