"""pyro: stochastic variational inference, guides, Hamiltonian Monte Carlo, enumeration."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoDiagonalNormal, AutoLowRankMultivariateNormal, AutoNormal
from pyro.optim import Adam, ClippedAdam

pyro.set_rng_seed(0)
x = torch.randn(60, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 + 0.1 * torch.randn(60)


def model(x, y=None):
    w = pyro.sample("w", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    b = pyro.sample("b", dist.Normal(0.0, 1.0))
    sigma = pyro.sample("sigma", dist.HalfCauchy(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("obs", dist.Normal(x @ w + b, sigma), obs=y)


for kind in (AutoNormal, AutoDiagonalNormal, AutoLowRankMultivariateNormal, AutoDelta):
    pyro.clear_param_store()
    guide = kind(model)
    svi = SVI(model, guide, (ClippedAdam if kind is AutoNormal else Adam)({"lr": 0.03}), Trace_ELBO())
    for _ in range(60):
        loss = svi.step(x, y)
    print(
        kind.__name__,
        f"{loss:.3f}",
        {k: [round(z, 3) for z in v.reshape(-1).tolist()] for k, v in guide.median(x, y).items()},
    )
print("predictive", f"{Predictive(model, guide=guide, num_samples=5)(x)['obs'].sum().item():.3f}")
mcmc = MCMC(
    NUTS(model, jit_compile=False, max_tree_depth=4), num_samples=15, warmup_steps=10, disable_progbar=True
)
mcmc.run(x, y)
print("nuts", [f"{v:.2f}" for v in mcmc.get_samples()["w"].mean(0).tolist()])


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
    with pyro.plate("d", len(data)):
        z = pyro.sample("z", dist.Categorical(weights))
        pyro.sample("o", dist.Normal(locs[z], 1.0), obs=data)


pyro.clear_param_store()
data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "locs"]))
svi = SVI(mixture, guide, Adam({"lr": 0.2}), TraceEnum_ELBO(max_plate_nesting=1))
print("enumerated", [f"{svi.step(data):.3f}" for _ in range(5)])
print(pyro.poutine.trace(model).get_trace(x, y).format_shapes())
