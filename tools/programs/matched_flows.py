"""Flow matching: paths, schedulers, solvers, discrete and Riemannian flows."""

import torch
from flow_matching.loss import MixturePathGeneralizedKL
from flow_matching.path import AffineProbPath, CondOTProbPath, GeodesicProbPath, MixtureDiscreteProbPath
from flow_matching.path.scheduler import (
    CondOTScheduler,
    CosineScheduler,
    LinearVPScheduler,
    PolynomialConvexScheduler,
    ScheduleTransformedModel,
    VPScheduler,
)
from flow_matching.solver import MixtureDiscreteEulerSolver, ODESolver, RiemannianODESolver
from flow_matching.utils import ModelWrapper
from flow_matching.utils.manifolds import FlatTorus, Sphere


def show(name: str, *values: torch.Tensor) -> None:
    """Tensors' sizes, and what their numbers and squares add up to."""
    for value in values:
        value = value.detach().double()
        print(name, tuple(value.shape), f"{value.abs().sum():.5e} {value.square().sum():.5e}")


class Velocity(torch.nn.Module):
    """A net of a point and a time."""

    def __init__(self, size: int = 2, out: int | None = None) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(size + 1, 16), torch.nn.SiLU(), torch.nn.Linear(16, out or size)
        )

    def forward(self, x, t, **extras):
        """The velocity at x."""
        return self.net(torch.cat([x, t.reshape(-1, 1).expand(len(x), 1)], -1))


class Wrapped(ModelWrapper):
    """The same, as solvers ask for it."""

    def forward(self, x, t, **extras):
        """The velocity at x."""
        return self.model(x, t)


net = Velocity()
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
schedulers = [
    CondOTScheduler(),
    CosineScheduler(),
    LinearVPScheduler(),
    VPScheduler(),
    PolynomialConvexScheduler(2.0),
]
for path in [CondOTProbPath(), *(AffineProbPath(scheduler=s) for s in schedulers)]:
    for _ in range(3):
        noise, data = torch.randn(32, 2), torch.rand(32, 2) * 2 - 1
        sample = path.sample(t=torch.rand(32) * 0.9 + 0.05, x_0=noise, x_1=data)
        loss = (net(sample.x_t, sample.t) - sample.dx_t).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    t = sample.t[:, None]
    show(type(path.scheduler).__name__, loss, sample.x_t, path.target_to_velocity(data, sample.x_t, t))
    show("noise", path.epsilon_to_target(noise, sample.x_t, t), path.velocity_to_epsilon(data, noise, t))

solver = ODESolver(velocity_model=Wrapped(net))
grid = torch.linspace(0, 1, 5)
for method in ("euler", "midpoint", "rk4"):
    show(
        method,
        solver.sample(
            torch.ones(6, 2), step_size=0.2, method=method, time_grid=grid, return_intermediates=True
        ),
    )
gaussian = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 1)
for exact in (True, False):
    show(
        "likelihood",
        *solver.compute_likelihood(
            torch.rand(6, 2), gaussian.log_prob, step_size=0.2, exact_divergence=exact
        ),
    )
other = ScheduleTransformedModel(Wrapped(net), CondOTScheduler(), CosineScheduler())
show(
    "another schedule",
    ODESolver(other).sample(torch.ones(4, 2), step_size=0.25, time_grid=torch.tensor([0.05, 0.95])),
)

for manifold in (Sphere(), FlatTorus()):
    path = GeodesicProbPath(scheduler=CondOTScheduler(), manifold=manifold)
    a, b = (manifold.projx(torch.randn(16, 2)) for _ in range(2))
    sample = path.sample(t=torch.rand(16), x_0=a, x_1=b)
    show(type(manifold).__name__, sample.x_t, sample.dx_t)
    flow = RiemannianODESolver(manifold, Wrapped(net))
    show("solved", flow.sample(a, step_size=0.1, method="midpoint"))


class Words(ModelWrapper):
    """Chances of words, from a table."""

    def forward(self, x, t, **extras):
        """Logits' softmax."""
        return self.model(x).softmax(-1)


table = torch.nn.Embedding(5, 5)
discrete = MixtureDiscreteProbPath(scheduler=PolynomialConvexScheduler(2.0))
clean = torch.randint(0, 5, (8, 6))
sample = discrete.sample(t=torch.rand(8) * 0.9, x_0=torch.zeros_like(clean), x_1=clean)
loss = MixturePathGeneralizedKL(path=discrete)(table(sample.x_t), clean, sample.x_t, sample.t)
loss.backward()
show("discrete", loss, table.weight.grad, sample.x_t)
steps = MixtureDiscreteEulerSolver(Words(table), discrete, vocabulary_size=5)
show("generated", steps.sample(torch.zeros(4, 6, dtype=torch.long), step_size=0.1))
