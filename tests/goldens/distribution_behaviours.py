"""What distributions draw, weigh and refuse; PyTorch's answers: distribution_behaviours.json."""

from __future__ import annotations

from typing import Any

from answers import Table, attempts

DISTRIBUTIONS = Table("distribution_behaviours.json")


def _names(torch: Any) -> dict[str, Any]:
    a, p, A = torch.randn(3, 4), torch.rand(3, 4), torch.randn(3, 3)
    return dict(torch=torch, D=torch.distributions, a=a, p=p, C=A @ A.T + torch.eye(3), v=torch.randn(5, 3))


@DISTRIBUTIONS
def normal(torch: Any) -> Any:
    return attempts(
        """
        D.Normal(a,p)
        D.Normal(0.,1.)
        D.Normal(a,p).sample((2,))
        D.Normal(a,p).rsample((2,))
        D.Normal(a,p).log_prob(a+1)
        D.Normal(a,p).cdf(a+1)
        D.Normal(a,p).icdf(p)
        D.Normal(a,p).entropy()
        D.Normal(0,1).sample((3,))
        D.Normal(a,-p)
        D.Normal(a,p).log_prob(3)
        D.Normal(a,p).log_prob(torch.tensor(float('nan')))
        D.Normal(a,p).stddev, D.Normal(a,p).variance
    """,
        _names(torch),
    )


@DISTRIBUTIONS
def bernoulli(torch: Any) -> Any:
    return attempts(
        """
        D.Bernoulli(p).sample((2,))
        D.Bernoulli(logits=a).sample()
        D.Bernoulli(logits=a).log_prob((a>0).float())
        D.Bernoulli(p).entropy()
        D.Bernoulli(.3).sample((4,))
        D.Bernoulli(p, a)
        D.Bernoulli(p+1)
        D.Bernoulli(p).log_prob(a)
        D.Bernoulli(p).mean
    """,
        _names(torch),
    )


@DISTRIBUTIONS
def categorical(torch: Any) -> Any:
    return attempts(
        """
        D.Categorical(p).sample((2,))
        D.Categorical(p).sample()
        D.Categorical(p[0]).sample()
        D.Categorical(logits=a).entropy()
        D.Categorical(logits=a).log_prob(torch.tensor([0,1,3]))
        D.Categorical(p).log_prob(torch.tensor([[0,1,3],[2,2,2]]))
        D.Categorical(logits=a).perplexity()
        D.Categorical(p).log_prob(torch.tensor([0,1,4]))
        D.Categorical(-p)
        D.Categorical(p).mode
        D.Categorical(p)
    """,
        _names(torch),
    )


@DISTRIBUTIONS
def multivariate(torch: Any) -> Any:
    return attempts(
        """
        D.MultivariateNormal(v,C).sample((2,))
        D.MultivariateNormal(v[0],C).sample((2,3))
        D.MultivariateNormal(v[0],scale_tril=torch.linalg.cholesky(C)).log_prob(v)
        D.MultivariateNormal(v,C).log_prob(v+1)
        D.MultivariateNormal(v,precision_matrix=C).log_prob(v+1)
        D.MultivariateNormal(v,C).entropy()
        D.MultivariateNormal(v,C).variance
        D.MultivariateNormal(v,C).precision_matrix
        D.MultivariateNormal(v,-C)
        D.MultivariateNormal(v)
        D.MultivariateNormal(v,C)
        D.MultivariateNormal(v,C).log_prob(a)
    """,
        _names(torch),
    )


@DISTRIBUTIONS
def constraints(torch: Any) -> Any:
    return attempts(
        """
        D.constraints.positive_definite.check(C)
        D.constraints.positive_definite.check(-C)
        D.constraints.positive_definite.check(a)
        D.constraints.positive_definite, D.constraints.positive, D.constraints.simplex,D.constraints.real_vector, D.constraints.unit_interval
        D.constraints.lower_cholesky.check(torch.linalg.cholesky(C))
    """,
        _names(torch),
    )


@DISTRIBUTIONS
def gradients(torch: Any) -> Any:
    a, p = torch.randn(3, requires_grad=True), torch.rand(3, requires_grad=True)
    (torch.distributions.Normal(a, p).rsample((4,)) ** 2).sum().backward()
    torch.distributions.Categorical(logits=a).entropy().backward()
    torch.distributions.Bernoulli(p).log_prob(torch.tensor([1.0, 0.0, 1.0])).sum().backward()
    return a.grad, p.grad


if __name__ == "__main__":
    import torch

    DISTRIBUTIONS.record(torch)
