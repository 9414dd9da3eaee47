"""Optimizers of five packages: Adan, CAME, D-Adaptation, AdamP and a warm-up of rates."""

import pytorch_warmup
import torch
from adamp import SGDP, AdamP
from adan_pytorch import Adan
from came_pytorch import CAME
from dadaptation import DAdaptAdaGrad, DAdaptAdam, DAdaptLion, DAdaptSGD
from torch import nn

x, target = torch.randn(32, 10), torch.randn(32, 3)


def layers() -> nn.Module:
    """The same small network each time."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3)).double()


makers = {
    "Adan": lambda m: Adan(m.parameters(), lr=1e-2),
    "CAME": lambda m: CAME(m.parameters(), lr=1e-2, betas=(0.9, 0.999, 0.9999)),
    "DAdaptAdam": lambda m: DAdaptAdam(m.parameters(), lr=1.0),
    "DAdaptSGD": lambda m: DAdaptSGD(m.parameters(), lr=1.0, momentum=0.9),
    "DAdaptAdaGrad": lambda m: DAdaptAdaGrad(m.parameters(), lr=1.0),
    "DAdaptLion": lambda m: DAdaptLion(m.parameters(), lr=1.0),
    "AdamP": lambda m: AdamP(m.parameters(), lr=1e-2, weight_decay=1e-2),
    "SGDP": lambda m: SGDP(m.parameters(), lr=1e-1, momentum=0.9, nesterov=True),
}
for name, make in makers.items():
    model = layers()
    optimizer = make(model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    warmup = pytorch_warmup.LinearWarmup(optimizer, 4)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = (model(x.double()) - target).square().mean()
        loss.backward()
        optimizer.step()
        with warmup.dampening():
            scheduler.step()
        losses.append(round(loss.item(), 6))
    print(name, losses, optimizer.param_groups[0]["lr"])
