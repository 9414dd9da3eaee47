"""torchcde: interpolations of irregular series and a neural CDE that is trained."""

import torch
import torchcde
from torch import nn

torch.manual_seed(0)
x = torch.randn(8, 20, 3).cumsum(1)
x[0, 3:6, 1] = float("nan")
coeffs = torchcde.hermite_cubic_coefficients_with_backward_differences(x)
for coefficients in (torchcde.natural_cubic_coeffs(x), torchcde.linear_interpolation_coeffs(x)):
    print(tuple(coefficients.shape), f"{coefficients.sum().item():.3f}")


class F(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 12)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


func, first, last = F(), nn.Linear(3, 4), nn.Linear(4, 1)
opt = torch.optim.Adam([*func.parameters(), *first.parameters(), *last.parameters()], lr=1e-2)
target = (torch.nanmean(x[:, -1], -1) > 0).float()
for _ in range(4):
    X = torchcde.CubicSpline(coeffs)
    z = torchcde.cdeint(
        X=X,
        z0=first(X.evaluate(X.interval[0])),
        func=func,
        t=X.interval,
        method="rk4",
        options={"step_size": 1.0},
    )
    loss = nn.functional.binary_cross_entropy_with_logits(last(z[:, -1]).squeeze(-1), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
