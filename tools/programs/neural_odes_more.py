"""torchdyn and neurodiffeq: neural differential equations and equations solved by networks."""

import numpy as np
import torch
from neurodiffeq import diff
from neurodiffeq.conditions import IVP, DirichletBVP2D
from neurodiffeq.networks import FCNN, SinActv
from neurodiffeq.solvers import Solver1D, Solver2D
from torch import nn
from torchdyn.core import NeuralODE
from torchdyn.nn import Augmenter, DataControl, DepthCat
from torchdyn.numerics import odeint

f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
x = torch.randn(8, 2)
for sensitivity in ("autograd", "adjoint", "interpolated_adjoint"):
    for solver in ("euler", "rk4", "dopri5", "tsit5"):
        model = NeuralODE(f, sensitivity=sensitivity, solver=solver, atol=1e-4, rtol=1e-4)
        t, y = model(x, torch.linspace(0, 1, 5))
        f.zero_grad()
        y[-1].square().sum().backward()
        print(sensitivity, solver, tuple(y.shape), y[-1].sum().item(), f[0].weight.grad.abs().sum().item())
g = nn.Sequential(DataControl(), DepthCat(1), nn.Linear(5, 2))
print(NeuralODE(g, solver="rk4")(x, torch.linspace(0, 1, 4))[1].sum())
print(Augmenter(augment_dims=2)(x).shape)
print(odeint(lambda t, y: -y, x, torch.linspace(0, 1, 6), solver="midpoint")[1][-1].sum())

solver = Solver1D(
    ode_system=lambda u, t: [diff(u, t, order=2) + u],
    conditions=[IVP(t_0=0.0, u_0=0.0, u_0_prime=1.0)],
    t_min=0.0,
    t_max=2 * np.pi,
    nets=[FCNN(actv=SinActv, hidden_units=(16, 16))],
    n_batches_valid=1,
)
solver.fit(max_epochs=12)
print(solver.metrics_history["train_loss"], solver.metrics_history["valid_loss"])
print(solver.get_solution()(np.linspace(0, 6, 5), to_numpy=True))

plane = Solver2D(
    pde_system=lambda u, x, y: [diff(u, x, order=2) + diff(u, y, order=2)],
    conditions=[
        DirichletBVP2D(0, lambda y: torch.sin(np.pi * y), 1, lambda y: 0, 0, lambda x: 0, 1, lambda x: 0)
    ],
    xy_min=(0, 0),
    xy_max=(1, 1),
    nets=[FCNN(n_input_units=2, n_output_units=1, hidden_units=(16,))],
)
plane.fit(max_epochs=6)
print(plane.metrics_history["train_loss"])
