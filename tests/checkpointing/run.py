"""A training run that a test kills: python run.py DIRECTORY STEPS. Prints a digest of all state at the end."""

import hashlib
import random
import sys

import numpy as np

import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


def build(directory):
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [5, 9], gamma=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
    data = TensorDataset(torch.randn(40, 6), torch.randint(3, (40,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    checkpoint = torch.Checkpoint(
        directory, keep=2, model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler, loader=loader
    )
    return checkpoint, model, optimizer, scheduler, scaler, loader


def train(directory, steps, on_step=lambda step: None):
    checkpoint, model, optimizer, scheduler, scaler, loader = build(directory)
    done, history = 0, []
    if checkpoint.steps():
        kept = checkpoint.load()
        done, history = kept["step"], kept["history"]
    while done < steps:
        for x, y in loader:
            noise = random.random() + float(np.random.rand())
            loss = nn.functional.cross_entropy(model(x + 0.01 * noise), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            done += 1
            history.append(loss.item())
            checkpoint.save(done, history=history)
            on_step(done)
            if done == steps:
                break
    return digest(model, optimizer, history)


def digest(model, optimizer, history):
    found = hashlib.sha256(repr(history).encode())
    for t in [*model.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())]:
        found.update(t.detach().numpy().tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    print("ready", flush=True)
    print(train(sys.argv[1], int(sys.argv[2]), lambda step: print(step, flush=True)))
