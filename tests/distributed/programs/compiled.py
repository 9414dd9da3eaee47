"""DistributedDataParallel and fully_shard around, and inside of, compiled functions: the losses are the eager ones."""

import json

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from train import Net


def losses(wrapped):
    torch.manual_seed(0)
    model, call = wrapped(Net())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    torch.manual_seed(dist.get_rank())
    x, y = torch.randint(0, 11, (8, 5)), torch.randint(0, 7, (8,))
    found = []
    for _ in range(8):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(call(x), y)
        loss.backward()
        opt.step()
        found.append(loss.item())
    return found


def twice(model):
    return model, model


def around(model):
    model = DDP(model)
    return model, torch.compile(model)


def step_of(model):
    model = DDP(model)
    return model, torch.compile(lambda x: model(x) * 1.0)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    print(
        json.dumps(
            {
                "eager": losses(lambda m: twice(DDP(m))),
                "inside": losses(lambda m: twice(DDP(torch.compile(m)))),
                "around": losses(around),
                "function": losses(step_of),
                "sharded": losses(lambda m: twice(fully_shard(m))),
                "sharded compiled": losses(lambda m: (fully_shard(m), torch.compile(m))),
            }
        )
    )
    dist.destroy_process_group()
