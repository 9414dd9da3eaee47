"""The guides' distributed programs on the CPU: gloo for nccl, no device ids; fewer samples. Rank 0 prints the losses.

torchrun --nproc_per_node=2 guides.py
"""

import functools
import json
import os
import random
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class MyDataset(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, i):
        return {"x": torch.full((8,), i / 100), "y": torch.tensor(i % 3)}


def mlp(*sizes):
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def reference_17():
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    device = torch.device("cpu")
    model = mlp(8, 16, 3).to(device)
    model = DDP(model)
    train_set = MyDataset()
    sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, shuffle=True)
    loader = DataLoader(train_set, batch_size=32, sampler=sampler, num_workers=2, persistent_workers=True)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses = []
    for epoch in range(2):
        sampler.set_epoch(epoch)  # ensures different shuffling per epoch
        for batch in loader:
            inputs = batch["x"].to(device, non_blocking=True)
            labels = batch["y"].to(device, non_blocking=True)
            with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(inputs), labels)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses


def exercise_6():
    rank, ws = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dev = torch.device("cpu")
    model = nn.Linear(64, 10).to(dev)
    model = DDP(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ds = TensorDataset(torch.randn(1_000, 64), torch.randint(0, 10, (1_000,)))
    sampler = DistributedSampler(ds, num_replicas=ws, rank=rank, shuffle=True)
    loader = DataLoader(ds, batch_size=64, sampler=sampler, num_workers=2, pin_memory=False)
    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        losses.append(loss.item())
    return losses


def tutorial_7():
    train_dataset = TensorDataset(torch.randn(200, 10), torch.randn(200, 1))
    model = DDP(mlp(10, 20, 1))
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.05), nn.MSELoss()
    sampler = DistributedSampler(train_dataset, shuffle=True)
    train_loader = DataLoader(train_dataset, batch_size=32, sampler=sampler)
    folder = tempfile.gettempdir()
    losses = []
    for epoch in range(2):
        sampler.set_epoch(epoch)  # Ensure different shuffling each epoch
        for batch_x, batch_y in train_loader:
            optimizer.zero_grad()
            output = model(batch_x)
            loss = criterion(output, batch_y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        # Save only from rank 0
        if dist.get_rank() == 0:
            path = os.path.join(folder, f"checkpoint_epoch_{epoch}_{os.getpid()}.pt")
            torch.save(model.module.state_dict(), path)
            losses.append(sorted(torch.load(path)))
            os.remove(path)
    return losses


def fundamentals(rank, world_size):
    model = mlp(784, 512, 256, 10)
    model = DDP(model)
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(model(torch.randn(16, 784)), torch.randint(0, 10, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def reference_card():
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    auto_wrap_policy = functools.partial(
        transformer_auto_wrap_policy,
        transformer_layer_cls={nn.TransformerEncoderLayer},
    )
    mp_policy = MixedPrecision(
        param_dtype=torch.bfloat16,
        reduce_dtype=torch.bfloat16,
        buffer_dtype=torch.bfloat16,
    )
    layers = [nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(2)]
    model = FSDP(
        nn.Sequential(*layers, nn.Linear(16, 4)),
        auto_wrap_policy=auto_wrap_policy,
        mixed_precision=mp_policy,
        device_id=torch.device("cpu"),
        use_orig_params=True,  # required for torch.compile
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(4, 6, 16), torch.randint(0, 4, (4, 6))
    losses = []
    for _ in range(4):
        loss = F.cross_entropy(model(x).float().flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def seeded(f, *arguments):
    torch.manual_seed(42)
    random.seed(42)
    np.random.seed(42)
    return f(*arguments)


if __name__ == "__main__":
    rank = int(os.environ["RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    dist.init_process_group(backend="gloo", rank=rank, world_size=world_size)
    found = {
        "A17": seeded(reference_17),
        "A22.6": seeded(exercise_6),
        "B7": seeded(tutorial_7),
        "D": seeded(fundamentals, rank, world_size),
        "E": seeded(reference_card),
    }
    dist.barrier()
    if rank == 0:
        print(json.dumps(found))
    dist.destroy_process_group()
    sys.exit(0)
