"""Trains a small transformer in one of several ways, and prints the losses of all ranks' batches, the gradient's norm
and how many bytes of parameters and states this rank has. The launcher's environment says which rank this is.

    python train.py WAY STEPS         ways: one, ddp, ddp_view, ddp_static, ddp_unused, flat, orig, zero2, none, fully
"""

import functools
import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

CPU = torch.device("cpu")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, width=18, classes=7):
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(3)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h.mean(1))


def wrapped(net, way):
    if way == "one":
        return net
    if way.startswith("ddp"):
        return DDP(
            net,
            gradient_as_bucket_view=way == "ddp_view",
            static_graph=way == "ddp_static",
            find_unused_parameters=way == "ddp_unused",
            bucket_cap_mb=0.01,
        )
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, fully_shard
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    if way == "fully":
        for block in net.blocks:
            fully_shard(block)
        return fully_shard(net)
    strategy = {"zero2": ShardingStrategy.SHARD_GRAD_OP, "none": ShardingStrategy.NO_SHARD}.get(way)
    return FSDP(
        net,
        sharding_strategy=strategy,
        use_orig_params=way != "flat",
        device_id=CPU,
        auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
    )


def size(tensors):
    return sum(
        t.numel() * t.element_size() for t in (getattr(t, "to_local", lambda t=t: t)() for t in tensors)
    )


def main(way, steps):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = wrapped(Net(), way)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    torch.manual_seed(1)
    inputs, targets = torch.randint(0, 11, (steps, 12, 5)), torch.randint(0, 7, (steps, 12))
    losses = []
    for x, y in zip(inputs, targets):
        x, y = (x, y) if way == "one" else (x.chunk(world)[rank], y.chunk(world)[rank])
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        clip = getattr(net, "clip_grad_norm_", functools.partial(nn.utils.clip_grad_norm_, net.parameters()))
        norm = clip(1.0)
        opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / world)
    states = [t for s in opt.state.values() for t in s.values() if torch.is_tensor(t) and t.ndim]
    norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    print(
        json.dumps(
            {
                "rank": rank,
                "losses": losses,
                "norm": norm.item(),
                "parameters": size(net.parameters()),
                "states": size(states),
            }
        )
    )
    dist.barrier()  # PyTorch's ranks may be aborted where the first one has gone
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
