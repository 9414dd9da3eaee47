"""fully_shard of a module that was made on the meta device: values come later, and training goes as without."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

dist.init_process_group("gloo")


def made():
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def sharded(model):
    fully_shard(model[0])
    return fully_shard(model)


def trained(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(3):
        model(torch.full((4, 3), dist.get_rank() + step / 2)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.full_tensor().detach() for p in model.parameters()]


def filled(model):
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.fill_(0.1 * (number + 1))
    return model


expected = trained(sharded(filled(made())))

with torch.device("meta"):
    model = made()
sharded(model)
assert all(isinstance(p, DTensor) and p.is_meta for p in model.parameters())
assert model[0].weight.to_local().shape == ((3, 3) if dist.get_rank() == 0 else (2, 3))
filled(model.to_empty(device="cpu"))
for found, wanted in zip(trained(model), expected):
    torch.testing.assert_close(found, wanted)

values = sharded(filled(made())).state_dict()
with torch.device("meta"):
    other = made()
sharded(other).load_state_dict(values, assign=True)
for found, wanted in zip(trained(other), expected):
    torch.testing.assert_close(found, wanted)

# From rank 0, which alone has whole tensors.
options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
model = sharded(filled(made()))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
weights, states = get_state_dict(model, optimizer, options=whole)
assert bool(weights) == bool(states) == (dist.get_rank() == 0)
with torch.device("meta"):
    other = made()
sharded(other)
set_model_state_dict(other, weights, options=options)
again = torch.optim.Adam(other.parameters(), lr=0.3)
set_optimizer_state_dict(other, again, states, options=options)
for found, wanted in zip(other.parameters(), model.parameters()):
    torch.testing.assert_close(found.full_tensor(), wanted.full_tensor())
    moment, same = again.state[found]["exp_avg"], optimizer.state[wanted]["exp_avg"]
    torch.testing.assert_close(moment.full_tensor(), same.full_tensor())
assert again.param_groups[0]["lr"] == 0.1
print("as without", flush=True)
dist.destroy_process_group()
