"""torchdiffeq: every solver, the adjoint, events, a neural ODE that is trained."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
t, y0 = torch.linspace(0, 1.5, 5), torch.tensor([[2.0, 0.0]])
for method in (
    "dopri5",
    "dopri8",
    "bosh3",
    "fehlberg2",
    "adaptive_heun",
    "euler",
    "midpoint",
    "rk4",
    "heun3",
    "explicit_adams",
    "implicit_adams",
    "scipy_solver",
):
    y = odeint(
        lambda t, y: y**3 @ A,
        y0,
        t,
        method=method,
        rtol=1e-4,
        atol=1e-4,
        options={"solver": "LSODA"} if method == "scipy_solver" else None,
    )
    print(method, [f"{v:.4f}" for v in y[-1, 0].tolist()])


class F(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


for solve in (odeint, odeint_adjoint):
    func = F()
    opt = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    true = odeint(lambda t, y: y**3 @ A, y0, t)
    for _ in range(5):
        opt.zero_grad()
        loss = (solve(func, y0, t, rtol=1e-4, atol=1e-4) - true).abs().mean()
        loss.backward()
        opt.step()
        print(solve.__name__, f"{loss.item():.5f}")
ball = torch.tensor([1.0, 0.0], requires_grad=True)
when, states = odeint_event(
    lambda t, s: torch.stack([s[1], -9.8 + 0 * s[0]]),
    ball,
    torch.tensor(0.0),
    event_fn=lambda t, s: s[0],
    atol=1e-8,
    rtol=1e-8,
)
when.backward()
print("event", f"{when.item():.5f}", [f"{v:.5f}" for v in ball.grad.tolist()])
