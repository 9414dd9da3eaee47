"""A training run that one framework begins and another one ends: train(t, folder, ...) in the framework `t`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KINDS = ("sgd", "adamw", "adam")
BEFORE, AFTER = 20, 50


def build(t: Any, kind: str) -> dict[str, Any]:
    """The parts of a run: everything that its checkpoint keeps."""
    t.manual_seed(5)
    nn = t.nn
    model = nn.Sequential(
        nn.Linear(10, 12),
        nn.BatchNorm1d(12),
        nn.GELU(),
        nn.Dropout(0.25),
        nn.Linear(12, 12),
        nn.LayerNorm(12),
        nn.Tanh(),
        nn.Linear(12, 4),
    )
    groups = [{"params": model[0].parameters(), "lr": 5e-3}, {"params": model[1:].parameters()}]
    if kind == "sgd":
        optimizer = t.optim.SGD(groups, lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-3)
        scheduler = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=BEFORE + AFTER)
    elif kind == "adamw":
        optimizer = t.optim.AdamW(groups, lr=3e-3, weight_decay=0.05)
        scheduler = t.optim.lr_scheduler.SequentialLR(
            optimizer,
            milestones=[8],
            schedulers=[
                t.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=8),
                t.optim.lr_scheduler.CosineAnnealingLR(optimizer, BEFORE + AFTER),
            ],
        )
    else:
        optimizer = t.optim.Adam(groups, lr=3e-3, amsgrad=True)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3, factor=0.5)
    scaler = t.amp.GradScaler("cpu", init_scale=64.0, growth_interval=7)
    return {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}


def steps(t: Any, parts: dict[str, Any], count: int) -> list[float]:
    """So many steps of training; batches and dropout are drawn from the generator of random numbers."""
    model, optimizer, scheduler, scaler = parts.values()
    found = []
    for _ in range(count):
        x = t.randn(16, 10)
        y = (x[:, :4] + 0.3 * t.randn(16, 4)).argmax(1)
        optimizer.zero_grad()
        loss = t.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        plateau = type(scheduler).__name__ == "ReduceLROnPlateau"
        scheduler.step(*([loss.item()] if plateau else []))
        found.append(loss.item())
    return found


def begin(t: Any, path: Path, kind: str) -> list[float]:
    """Train, write the checkpoint as PyTorch's tutorials do, train on: the losses after it."""
    parts = build(t, kind)
    steps(t, parts, BEFORE)
    t.save(
        {
            **{name: part.state_dict() for name, part in parts.items()},
            "step": BEFORE,
            "rng": t.get_rng_state(),
        },
        path,
    )
    return steps(t, parts, AFTER)


def resume(t: Any, path: Path, kind: str) -> list[float]:
    """The losses after the checkpoint, in a run that knows nothing but the file."""
    parts = build(t, kind)
    kept = t.load(path)
    for name, part in parts.items():
        part.load_state_dict(kept[name])
    t.set_rng_state(kept["rng"])
    return steps(t, parts, AFTER)
