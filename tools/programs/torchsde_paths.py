"""torchsde: solvers of stochastic equations, Brownian paths, the adjoint."""

import torch
import torchsde
from torch import nn

torch.manual_seed(0)


class SDE(nn.Module):
    def __init__(self, noise_type, sde_type):
        super().__init__()
        self.noise_type, self.sde_type = noise_type, sde_type
        self.mu, self.sigma = nn.Linear(3, 3), nn.Linear(3, 3 if noise_type == "diagonal" else 6)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        out = torch.sigmoid(self.sigma(y))
        return out if self.noise_type == "diagonal" else out.view(-1, 3, 2)


ts, y0 = torch.linspace(0, 1, 5), torch.full((4, 3), 0.1)
for noise, kind, method in (
    ("diagonal", "ito", "euler"),
    ("diagonal", "ito", "milstein"),
    ("diagonal", "ito", "srk"),
    ("general", "ito", "euler"),
    ("general", "stratonovich", "midpoint"),
    ("diagonal", "stratonovich", "heun"),
    ("diagonal", "stratonovich", "reversible_heun"),
):
    sde = SDE(noise, kind)
    bm = torchsde.BrownianInterval(
        0.0, 1.0, size=(4, 3 if noise == "diagonal" else 2), entropy=7, levy_area_approximation="space-time"
    )
    y = torchsde.sdeint(sde, y0, ts, bm=bm, method=method, dt=0.05)
    y[-1].sum().backward()
    print(noise, kind, method, f"{y.sum().item():.4f} {sde.mu.weight.grad.sum().item():.4f}")
for kind in ("ito", "stratonovich"):
    sde = SDE("diagonal", kind)
    bm = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=3, levy_area_approximation="space-time")
    y = torchsde.sdeint_adjoint(sde, y0, ts, bm=bm, dt=0.05, adjoint_params=list(sde.parameters()))
    y[-1].sum().backward()
    print("adjoint", kind, f"{y.sum().item():.4f} {sde.mu.weight.grad.sum().item():.4f}")
