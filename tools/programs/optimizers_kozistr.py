"""pytorch-optimizer: all optimizers that it has, three steps each."""

import warnings

import torch
from pytorch_optimizer import get_supported_optimizers, load_optimizer
from pytorch_optimizer.lr_scheduler import CosineAnnealingWarmupRestarts

warnings.filterwarnings("ignore")
x, y = (
    torch.randn(16, 4, generator=torch.Generator().manual_seed(1)),
    torch.randn(16, 2, generator=torch.Generator().manual_seed(2)),
)
# Those of matrices divide by what rounding left: their third step is noise.
NOISE = ("alice", "soap", "splus")
for name in sorted(set(get_supported_optimizers()) - set(NOISE)):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
    try:
        opt = load_optimizer(name)(net.parameters(), lr=1e-2)
        losses = []
        for _ in range(3):
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            opt.step()
            losses.append(f"{loss.item():.5f}")
        print(name, losses, f"{sum(p.double().abs().sum().item() for p in net.parameters()):.4f}")
    except Exception as error:
        print(name, type(error).__name__)
opt = torch.optim.SGD(net.parameters(), 0.1)
sched = CosineAnnealingWarmupRestarts(opt, 5, max_lr=0.1, min_lr=0.01, warmup_steps=2)
print([round(sched.get_lr()[0], 5) or sched.step() for _ in range(3)])
