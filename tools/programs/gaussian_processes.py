"""Gaussian processes of gpytorch: exact regression, kernels, several tasks, inducing points, classification."""

import gpytorch
import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.kernels import (
    AdditiveStructureKernel,
    CosineKernel,
    LinearKernel,
    MaternKernel,
    MultitaskKernel,
    PeriodicKernel,
    PolynomialKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)

torch.set_default_dtype(torch.float64)


def show(name: str, value: torch.Tensor) -> None:
    """A tensor's size, sum and size of its numbers."""
    value = value.detach()
    print(name, tuple(value.shape), f"{value.sum():.6e} {value.abs().sum():.6e}")


class Regression(gpytorch.models.ExactGP):
    """A process with a constant mean."""

    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        """The prior at x."""
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(model, likelihood, loss, x, y, steps=8):
    """Adam on a marginal likelihood."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model.train()
    likelihood.train()
    for _ in range(steps):
        optimizer.zero_grad()
        value = -loss(model(x), y)
        value.backward()
        optimizer.step()
    print("loss", f"{value.item():.6e}")
    model.eval()
    likelihood.eval()


x = torch.linspace(0, 1, 20).unsqueeze(-1)
y = torch.sin(x[:, 0] * 6) + 0.1 * torch.randn(20)
new = torch.linspace(-0.2, 1.2, 9).unsqueeze(-1)
for kernel in (
    ScaleKernel(RBFKernel()),
    ScaleKernel(MaternKernel(nu=1.5)) + LinearKernel(),
    RQKernel() * PeriodicKernel(),
    ScaleKernel(CosineKernel()) + PolynomialKernel(power=2),
    SpectralMixtureKernel(num_mixtures=3),
):
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Regression(x, y, likelihood, kernel)
    fit(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, y)
    with gpytorch.settings.fast_pred_var():
        prediction = likelihood(model(new))
    show(type(kernel).__name__, prediction.mean)
    show("variance", prediction.variance)
    show("sample", prediction.rsample(torch.Size([3])))
    low, high = prediction.confidence_region()
    show("region", high - low)
    fantasy = model.get_fantasy_model(new[:2], torch.zeros(2))
    show("fantasy", fantasy(new).mean)

wide = torch.rand(12, 3)
additive = AdditiveStructureKernel(ScaleKernel(RBFKernel()), num_dims=3)
show("additive", additive(wide).to_dense())
with gpytorch.settings.max_cholesky_size(4), gpytorch.settings.cg_tolerance(1e-8):
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Regression(x, y, likelihood, ScaleKernel(RBFKernel()))
    model.eval()
    show("conjugate gradients", model(new).mean)


class Tasks(gpytorch.models.ExactGP):
    """Two outputs."""

    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.LinearMean(1), num_tasks=2)
        self.covar_module = MultitaskKernel(RBFKernel(), num_tasks=2, rank=1)

    def forward(self, x):
        """The prior at x."""
        return MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


both = torch.stack([y, y.flip(0)], -1)
likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
model = Tasks(x, both, likelihood)
fit(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, both)
show("tasks", likelihood(model(new)).mean)
show("covariance", likelihood(model(new)).covariance_matrix)


class Inducing(gpytorch.models.ApproximateGP):
    """A process known at inducing points."""

    def __init__(self, points, distribution, strategy):
        super().__init__(strategy(self, points, distribution, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = ScaleKernel(MaternKernel(nu=2.5))

    def forward(self, x):
        """The prior at x."""
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


for distribution, likelihood, target in (
    (gpytorch.variational.CholeskyVariationalDistribution, gpytorch.likelihoods.GaussianLikelihood(), y),
    (gpytorch.variational.MeanFieldVariationalDistribution, gpytorch.likelihoods.StudentTLikelihood(), y),
    (
        gpytorch.variational.CholeskyVariationalDistribution,
        gpytorch.likelihoods.BernoulliLikelihood(),
        (y > 0).double(),
    ),
):
    model = Inducing(x[::4].clone(), distribution(5), gpytorch.variational.VariationalStrategy)
    model.likelihood = likelihood
    fit(model, likelihood, gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20), x, target)
    show(type(likelihood).__name__, likelihood(model(new)).mean)
    show("inducing", model.variational_strategy.inducing_points)
