"""botorch: a loop of Bayesian optimization with several acquisition functions."""

import torch
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from botorch.test_functions import Branin
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
f = Branin(negate=True)
bounds = f.bounds.double()
X = torch.rand(8, 2, dtype=torch.double) * (bounds[1] - bounds[0]) + bounds[0]
Y = f(X).unsqueeze(-1).double()
for step in range(3):
    gp = SingleTaskGP(X, Y, input_transform=Normalize(2), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
    for kind in (LogExpectedImprovement, ExpectedImprovement):
        acq = kind(gp, best_f=Y.max())
        print(kind.__name__, f"{acq(X[:1].unsqueeze(1) + 0.5).item():.3f}")
    candidate, value = optimize_acqf(
        UpperConfidenceBound(gp, beta=0.2), bounds, q=1, num_restarts=2, raw_samples=16
    )
    print(step, [f"{v:.2f}" for v in candidate[0].tolist()], f"{value.item():.2f}")
    X, Y = torch.cat([X, candidate]), torch.cat([Y, f(candidate).unsqueeze(-1)])
q = qExpectedImprovement(gp, Y.max(), SobolQMCNormalSampler(torch.Size([32]), seed=1))
print("q", f"{q(X[:2].unsqueeze(0)).item():.4f}", f"{gp.posterior(X).mean.sum().item():.3f}")
