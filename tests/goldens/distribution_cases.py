"""Every distribution, divergence, transform and constraint; PyTorch's answers: distribution_cases.json.

What a distribution says is the same list of questions for all of them, `facts`. The recorded table asks it of
one batch in single precision and of one in double; tests/live asks it of all rows, in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import product
from typing import Any

from answers import Table, attempt, split

CASES = Table("distribution_cases.json")

# A distribution's rows: a batch, numbers, a batch that is broadcast or of several dims.
ROWS = """
    D.Bernoulli(u(3)) | D.Bernoulli(.3) | D.Bernoulli(logits=v(2, 3)) | D.Bernoulli(const([0., .5, 1.]))
    D.Beta(p(3), p(3)) | D.Beta(2., .5) | D.Beta(p(2, 1), p(3))
    D.Binomial(5, u(3)) | D.Binomial(const([3, 40, 0]), logits=v(3)) | D.Binomial(100, u(2, 2))
    D.Categorical(u(2, 4)) | D.Categorical(logits=v(3)) | D.Categorical(const([[0., .5, .5], [1., 0., 0.]]))
    D.Cauchy(v(3), p(3)) | D.Cauchy(0., 1.) | D.Cauchy(v(2, 1), p(3))
    D.Chi2(p(3)) | D.Chi2(3.) | D.Chi2(p(2, 2))
    D.ContinuousBernoulli(u(3)) | D.ContinuousBernoulli(.5) | D.ContinuousBernoulli(logits=v(2, 3) + 3) | D.ContinuousBernoulli(const([.4991, .5, .8]))
    D.Dirichlet(p(3)) | D.Dirichlet(p(2, 3)) | D.Dirichlet(const([[.2, .3, .4], [1., 2., 3.]]))
    D.Exponential(p(3)) | D.Exponential(2.) | D.Exponential(p(2, 2))
    D.FisherSnedecor(p(3), p(3)) | D.FisherSnedecor(5., 7.) | D.FisherSnedecor(const([1., 3.]), const([5., 9.]))
    D.Gamma(p(3), p(3)) | D.Gamma(.5, 2.) | D.Gamma(p(2, 1), p(3))
    D.GeneralizedPareto(v(3), p(3), v(3)) | D.GeneralizedPareto(0., 1., 0.) | D.GeneralizedPareto(v(4), p(4), const([0., -.3, .4, 1.2]))
    D.Geometric(u(3)) | D.Geometric(.3) | D.Geometric(logits=v(2, 3))
    D.Gumbel(v(3), p(3)) | D.Gumbel(0., 1.) | D.Gumbel(v(2, 1), p(3))
    D.HalfCauchy(p(3)) | D.HalfCauchy(1.) | D.HalfCauchy(p(2, 2))
    D.HalfNormal(p(3)) | D.HalfNormal(1.) | D.HalfNormal(p(2, 2))
    D.Independent(D.Normal(v(2, 3), p(2, 3)), 1) | D.Independent(D.Bernoulli(u(2, 3)), 2) | D.Independent(D.Normal(v(3), p(3)), 0)
    D.InverseGamma(p(3), p(3)) | D.InverseGamma(3., 1.) | D.InverseGamma(p(2, 1), p(3))
    D.Kumaraswamy(p(3), p(3)) | D.Kumaraswamy(2., .5) | D.Kumaraswamy(p(2, 1), p(3))
    D.LKJCholesky(3, p(2)) | D.LKJCholesky(2, 1.) | D.LKJCholesky(4)
    D.Laplace(v(3), p(3)) | D.Laplace(0., 1.) | D.Laplace(v(2, 1), p(3))
    D.LogNormal(v(3), p(3)) | D.LogNormal(0., 1.) | D.LogNormal(v(2, 1), p(3))
    D.LogisticNormal(v(3), p(3)) | D.LogisticNormal(0., 1.) | D.LogisticNormal(v(2, 3), p(2, 3))
    D.LowRankMultivariateNormal(v(3), v(3, 2), p(3)) | D.LowRankMultivariateNormal(v(2, 3), v(3, 1), p(3)) | D.LowRankMultivariateNormal(v(3), v(2, 3, 2), p(2, 3))
    D.MixtureSameFamily(D.Categorical(u(3)), D.Normal(v(3), p(3))) | D.MixtureSameFamily(D.Categorical(u(2, 3)), D.Independent(D.Normal(v(2, 3, 2), p(2, 3, 2)), 1)) | D.MixtureSameFamily(D.Categorical(logits=v(2, 3)), D.Exponential(p(2, 3)))
    D.Multinomial(5, u(2, 3)) | D.Multinomial(3, logits=v(4)) | D.Multinomial(2, const([0., .5, .5]))
    D.MultivariateNormal(v(3), M(3)) | D.MultivariateNormal(v(2, 3), precision_matrix=M(3)) | D.MultivariateNormal(v(3), scale_tril=L(2, 3))
    D.NegativeBinomial(5, u(3)) | D.NegativeBinomial(p(3), logits=v(3)) | D.NegativeBinomial(const([0., 1., 2.5]), u(2, 1))
    D.Normal(v(3), p(3)) | D.Normal(0., 1.) | D.Normal(v(2, 1), p(3))
    D.OneHotCategorical(u(2, 4)) | D.OneHotCategorical(logits=v(3))
    D.OneHotCategoricalStraightThrough(u(2, 4)) | D.OneHotCategoricalStraightThrough(logits=v(3))
    D.Pareto(p(3), p(3)) | D.Pareto(1., 3.) | D.Pareto(p(2, 1), p(3))
    D.Poisson(p(3)) | D.Poisson(20.) | D.Poisson(const([[0., 1.], [30., 4.]]))
    D.RelaxedBernoulli(p(1), u(3)) | D.RelaxedBernoulli(const(.5), logits=v(2, 3))
    D.RelaxedOneHotCategorical(p(1), u(2, 4)) | D.RelaxedOneHotCategorical(const(.5), logits=v(3))
    D.StudentT(p(3)) | D.StudentT(5., 1., 2.) | D.StudentT(const([.5, 1.5, 3.]), v(2, 1), p(3))
    D.TransformedDistribution(D.Normal(v(3), p(3)), [D.TanhTransform()]) | D.TransformedDistribution(D.Independent(D.Normal(v(3), p(3)), 1), [D.AffineTransform(v(3), p(3)), D.SigmoidTransform()]) | D.TransformedDistribution(D.Uniform(const(0.), const(1.)), [D.SigmoidTransform().inv, D.AffineTransform(v(2), -p(2))])
    D.Uniform(v(3) - 4, p(3)) | D.Uniform(0., 1.) | D.Uniform(v(2, 1) - 4, p(3))
    D.VonMises(v(3), p(3)) | D.VonMises(const(0.), const(1.)) | D.VonMises(v(2, 1), 5 * p(3))
    D.Weibull(p(3), p(3)) | D.Weibull(1., 2.) | D.Weibull(p(2, 1), p(3))
    D.Wishart(4.5, M(3)) | D.Wishart(const([4., 6.]), precision_matrix=M(2)) | D.Wishart(3 + p(2), scale_tril=L(2, 3))
"""
ROWS_BY_NAME = {
    line.split("(")[0].removeprefix("D."): [text.strip() for text in line.split(" | ")]
    for line in split(ROWS)
}

# Gradients of these samples by their parameters are PyTorch's up to its own approximation of them.
IMPLICIT = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart"}


class Leaves:
    """What the rows' texts name: parameters that require gradients, all kept in `leaves`."""

    def __init__(self, torch: Any, dtype: str) -> None:
        self.torch, self.dtype = torch, getattr(torch, dtype)
        self.leaves: list[Any] = []

    def __call__(self, text: str) -> Any:
        functions = {name: getattr(self, name) for name in ("v", "p", "u", "M", "L", "const")}
        return eval(text, {"torch": self.torch, "D": self.torch.distributions, "math": math, **functions})  # noqa: S307

    def _leaf(self, value: Any) -> Any:
        self.leaves.append(value.detach().requires_grad_())
        return self.leaves[-1]

    def const(self, values: Any) -> Any:
        return self.torch.tensor(values, dtype=self.dtype)

    def v(self, *shape: int) -> Any:
        return self._leaf(self.torch.randn(shape, dtype=self.dtype))

    def p(self, *shape: int) -> Any:
        return self._leaf(self.torch.rand(shape, dtype=self.dtype) * 2.5 + 0.4)

    def u(self, *shape: int) -> Any:
        return self._leaf(self.torch.rand(shape, dtype=self.dtype) * 0.9 + 0.05)

    def L(self, *shape: int) -> Any:
        below = self.torch.randn((*shape, shape[-1]), dtype=self.dtype).tril(-1)
        return self._leaf(below + self.torch.diag_embed(self.torch.rand(shape, dtype=self.dtype) + 0.5))

    def M(self, n: int) -> Any:
        a = self.torch.randn(n, n, dtype=self.dtype)
        return self._leaf(a @ a.T + self.torch.eye(n, dtype=self.dtype))

    def grads(self, value: Any, *more: Any) -> Any:
        """Of the sum of squares, so that what sums to a constant has one too."""
        by = [*self.leaves, *more]
        return (
            list(self.torch.autograd.grad((value * value).sum(), by, allow_unused=True, retain_graph=True))
            if by
            else None
        )


def _said(answer: Any) -> Any:
    """Texts without what tells which op made a tensor, and runs of blanks."""
    if not isinstance(answer, str):
        return answer
    text = re.sub(
        r",\s+(grad_fn=<\w+>|requires_grad=True)|(?<=<class 'torch.distributions)[.\w]+(?=[.])", "", answer
    )
    return " ".join(text.split()) + " " * text.endswith("Error: ")


def facts(torch: Any, text: str, dtype: str) -> dict[str, Any]:
    """What a distribution answers to each question."""
    leaves = Leaves(torch, dtype)
    d = leaves(text)
    implicit = any(f"D.{name}(" in text for name in IMPLICIT)
    x = d.sample((2,))
    x = x.detach().clone() if x.dtype.is_floating_point else x
    y = x.clone().requires_grad_() if x.dtype.is_floating_point else x
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=leaves.dtype).reshape(-1, *[1] * len(d.batch_shape))
    wide = d.expand((4, *d.batch_shape))

    def gradient(ask: Callable[[], Any], *more: Any) -> Callable[[], Any]:
        # Squares of sums that cancel: in single precision only what the gradients look like.
        return lambda: [
            g if g is None or dtype == "float64" else [g.dtype, g.shape]
            for g in leaves.grads(ask(), *more) or []
        ]

    questions: dict[str, Callable[[], Any]] = {
        "text": lambda: repr(d),
        "shapes": lambda: [d.batch_shape, d.event_shape],
        "support": lambda: repr(d.support) if "GeneralizedPareto" not in text else None,
        "has": lambda: [bool(d.has_rsample), bool(d.has_enumerate_support)],
        "sample": lambda: [x, d.sample()],
        "rsample": lambda: d.rsample((2,)),
        "rsample's gradient": gradient(lambda: d.rsample((2,))) if not implicit else lambda: None,
        "log_prob": lambda: d.log_prob(x),
        "log_prob's gradient": gradient(
            lambda: d.log_prob(y), *[y] * (x.dtype.is_floating_point and "Poisson" not in text)
        ),
        "cdf": lambda: d.cdf(x),
        "cdf's gradient": gradient(lambda: d.cdf(x))
        if "Gamma" not in text and "Chi2" not in text
        else lambda: None,
        "icdf": lambda: d.icdf(levels),
        "icdf's gradient": gradient(lambda: d.icdf(levels)),
        # PyTorch's trigamma is good to 1e-9.
        "entropy": d.entropy,
        "entropy's gradient": lambda: [
            g if g is None or isinstance(g, list) else g.float() for g in gradient(d.entropy)()
        ],
        "perplexity": d.perplexity,
        "mean": lambda: d.mean,
        "variance": lambda: d.variance,
        "stddev": lambda: d.stddev,
        "variance's gradient": gradient(lambda: d.variance),
        "mode": lambda: d.mode if "Kumaraswamy" not in text else None,
        "values": lambda: [d.enumerate_support(), d.enumerate_support(expand=False).shape],
        "expanded": lambda: [repr(wide), wide.batch_shape, wide.sample(), wide.log_prob(x[:1])],
        "a wrong value": lambda: d.log_prob(x.double() * math.nan),
        "no tensor": lambda: d.log_prob("1"),
        "a wrong shape": lambda: d.log_prob(torch.zeros(7, 5)),
        "unchecked": lambda: [setattr(d, "_validate_args", False), d.log_prob(x * 1)][1:],
    }
    return {question: _said(attempt(ask)) for question, ask in questions.items()}


def implicit_gradients(torch: Any, text: str) -> Any:
    """The gradient of a sample; lists, whose numbers are compared by the test's own precision."""
    leaves = Leaves(torch, "float64")
    found = leaves.grads(leaves(text).rsample((3,)))
    return [g.tolist() for g in found or [] if g is not None]


def _recorded(name: str) -> None:
    def answer(torch: Any) -> Any:
        rows = ROWS_BY_NAME[name]
        # PyTorch's GeneralizedPareto refuses double precision.
        return [
            facts(torch, rows[0], "float32"),
            facts(torch, rows[-1], "float64" if name != "GeneralizedPareto" else "float32"),
        ]

    answer.__name__ = name
    CASES(answer)


for _name in ROWS_BY_NAME:
    # Where PyTorch has a polynomial that is good to 2e-7, double precision is compared in tests/live.
    if _name != "VonMises":
        _recorded(_name)


# --- divergences ----------------------------------------------------------------------------------

# Beside the rows' first ones: ends that fall together, moments that are infinite.
MORE_PAIRS = """
    D.Uniform(const(0.), const(1.)), D.Beta(const(2.), const(3.))
    D.Uniform(const(.2), const(.7)), D.Beta(const(2.), const(3.))
    D.Uniform(const(0.), const(1.)), D.ContinuousBernoulli(const(.3))
    D.Uniform(const(.1), const(.9)), D.ContinuousBernoulli(const(.3))
    D.Uniform(const(0.), const(1.)), D.Exponential(p(3))
    D.Uniform(const(.5), const(1.)), D.Gamma(p(3), p(3))
    D.Uniform(const(2.), const(3.)), D.Pareto(const([1., 2., 2.5]), p(3))
    D.Uniform(const(.2), const(.7)), D.Uniform(const([0., .2, .3]), const([1., .7, .8]))
    D.Beta(const(2.), const(3.)), D.Uniform(const([0., -1., .1]), const([1., 2., .9]))
    D.ContinuousBernoulli(const(.3)), D.Uniform(const([0., -1., .1]), const([1., 2., .9]))
    D.ContinuousBernoulli(const(.3)), D.ContinuousBernoulli(const([.4995, .5, .8]))
    D.Pareto(const(1.), const([.5, 1., 1.5, 2., 3.])), D.Exponential(const(2.))
    D.Pareto(const(1.), const([.5, 1., 1.5, 2., 3.])), D.Gamma(const(2.), const(3.))
    D.Pareto(const(1.), const([.5, 1., 1.5, 2., 3.])), D.Normal(const(0.), const(3.))
    D.Pareto(const([1., 2.]), const(2.)), D.Pareto(const(1.5), const(3.))
    D.Bernoulli(const([0., .5, 1., 0.])), D.Bernoulli(const([0., .5, .5, 1.]))
    D.Categorical(const([[0., .5, .5], [1., 0., 0.]])), D.Categorical(const([.5, .5, 0.]))
    D.Binomial(const([3, 5]), const(.3)), D.Binomial(3, const(.6))
    D.Binomial(2, const([.3])), D.Binomial(3, const([.6]))
    D.MultivariateNormal(v(2, 3), M(3)), D.MultivariateNormal(v(3), scale_tril=L(2, 3))
    D.MultivariateNormal(v(3), M(3)), D.MultivariateNormal(v(2), M(2))
    D.LowRankMultivariateNormal(v(3), v(3, 2), p(3)), D.MultivariateNormal(v(2), M(2))
    D.MultivariateNormal(v(2, 3), M(3)), D.LowRankMultivariateNormal(v(3), v(3, 1), p(3))
    D.LowRankMultivariateNormal(v(3), v(3, 2), p(3)), D.MultivariateNormal(v(2, 3), scale_tril=L(2, 3))
    D.Independent(D.Normal(v(2, 3), p(2, 3)), 1), D.Independent(D.Normal(v(2, 3), p(2, 3)), 2)
    D.LogNormal(v(3), p(3)), D.LogNormal(const(0.), const(1.))
    D.LogNormal(v(3), p(3)), D.HalfNormal(const(1.))
    D.Chi2(p(3)), D.Gamma(p(3), p(3))
    D.Wishart(const(4.5), M(3)), D.Wishart(const([4., 6.]), M(3))
    D.Normal(v(3), p(3)), 3
"""


def divergence(torch: Any, p: str, q: str, dtype: str) -> Any:
    """KL of the second from the first, and its gradients; or the error."""
    leaves = Leaves(torch, dtype)

    def ask() -> Any:
        found = torch.distributions.kl_divergence(leaves(p), leaves(q))
        finite = found[found.isfinite()]
        return [
            found,
            [g if g is None else g.float() for g in leaves.grads(finite)]
            if dtype == "float64" and finite.requires_grad and len(finite) == found.numel()
            else None,
        ]

    return _said(attempt(ask))


def pairs() -> list[tuple[str, str]]:
    """The first rows of all distributions with each other's, and MORE_PAIRS."""
    first = [rows[0] for rows in ROWS_BY_NAME.values()]
    return [*product(first, first), *map(_two, split(MORE_PAIRS))]


def _two(line: str) -> tuple[str, str]:
    cut = line.index(", D.") if ", D." in line else line.rindex(", ")
    while line[:cut].count("(") != line[:cut].count(")"):
        cut = line.index(", D.", cut + 1)
    return line[:cut], line[cut + 2 :]


@CASES
def divergences(torch: Any) -> Any:
    found = {f"{p} || {q}": divergence(torch, p, q, "float64") for p, q in pairs()}
    return {pair: answer for pair, answer in found.items() if "No KL" not in answer}


# --- transforms -----------------------------------------------------------------------------------

TRANSFORMS = """
    D.AbsTransform() | v(2, 3)
    D.AffineTransform(1., -2.) | v(2, 3)
    D.AffineTransform(v(3), p(3), event_dim=1) | v(2, 3)
    D.CatTransform([D.ExpTransform(), D.AffineTransform(1., 2.)], dim=-1, lengths=[2, 1]) | v(2, 3)
    D.CatTransform([D.ExpTransform(), D.identity_transform], dim=0) | v(2, 3)
    D.CatTransform([D.SigmoidTransform(), D.ExpTransform()], dim=0) | v(3, 3)
    D.ComposeTransform([D.ExpTransform(), D.AffineTransform(v(3), p(3)), D.SoftplusTransform()]) | v(2, 3)
    D.ComposeTransform([D.AffineTransform(0., 2.), D.StickBreakingTransform()]) | v(2, 3)
    D.CorrCholeskyTransform() | v(2, 6)
    D.CorrCholeskyTransform() | v(2, 5)
    D.CumulativeDistributionTransform(D.Normal(0., 1.)) | v(2, 3)
    D.ExpTransform() | v(2, 3)
    D.ExpTransform().inv | p(2, 3)
    D.IndependentTransform(D.ExpTransform(), 1) | v(2, 3)
    D.IndependentTransform(D.ExpTransform(), 3) | v(2, 3)
    D.LowerCholeskyTransform() | v(2, 3, 3)
    D.PositiveDefiniteTransform() | v(2, 3, 3)
    D.PowerTransform(2.) | p(2, 3)
    D.PowerTransform(v(3)) | p(2, 3)
    D.ReshapeTransform((3,), (3, 1)) | v(2, 3)
    D.ReshapeTransform((2,), (3, 1)) | v(2, 3)
    D.ReshapeTransform((4,), (2, 2)) | v(2, 4)
    D.SigmoidTransform() | v(2, 3)
    D.SoftmaxTransform() | v(2, 3)
    D.SoftplusTransform() | v(2, 3)
    D.StackTransform([D.ExpTransform(), D.identity_transform], dim=0) | v(2, 3)
    D.StackTransform([D.ExpTransform(), D.SigmoidTransform()], dim=1) | v(2, 3)
    D.StickBreakingTransform() | v(2, 3)
    D.TanhTransform() | v(2, 3)
    D.TanhTransform(cache_size=1) | v(2, 3)
    D.ExpTransform(cache_size=2) | v(2, 3)
    D.identity_transform | v(2, 3)
    D.Transform() | v(2, 3)
"""


def transform_facts(torch: Any, text: str, dtype: str) -> Any:
    """What a transform answers to each question."""
    leaves = Leaves(torch, dtype)
    made, given = text.split(" | ")
    t = attempt(lambda: leaves(made))
    if isinstance(t, str):
        return t
    x = leaves(given)
    y = attempt(lambda: t(x))
    questions: dict[str, Callable[[], Any]] = {
        "text": lambda: [repr(t), repr(t.inv)],
        "y": lambda: y,
        "x": lambda: t.inv(y),
        "gradient": lambda: leaves.grads(t(x)),
        "jacobian": lambda: t.log_abs_det_jacobian(x, y),
        "jacobian's gradient": lambda: leaves.grads(t.log_abs_det_jacobian(x, t(x))),
        "inverse's": lambda: t.inv.log_abs_det_jacobian(y, x),
        "domain": lambda: [repr(t.domain), t.domain.event_dim],
        "codomain": lambda: [repr(t.codomain), t.codomain.event_dim],
        "event_dim": lambda: t.event_dim,
        "bijective": lambda: t.bijective,
        "sign": lambda: t.sign,
        "shapes": lambda: [tuple(t.forward_shape(x.shape)), tuple(t.inverse_shape(t(x).shape))],
        "too few": lambda: tuple(t.forward_shape(torch.Size([]))),
        "equal": lambda: [
            t == t,
            t == leaves(made.replace("v(3)", "1.").replace("p(3)", "2.")),
            t.inv.inv is t,
            t.inv == t,
        ],
        "cached": lambda: (lambda c: [c is t, c.inv(c(x)) is x, c._cache_size])(t.with_cache()),
    }
    return {question: attempt(ask) for question, ask in questions.items()}


@CASES
def transforms(torch: Any) -> Any:
    return {text: transform_facts(torch, text, "float64") for text in split(TRANSFORMS)}


# --- constraints ----------------------------------------------------------------------------------

CONSTRAINTS = """
    C.boolean
    C.one_hot
    C.nonnegative_integer
    C.positive_integer
    C.integer_interval(0, 3)
    C.real
    C.real_vector
    C.positive
    C.nonnegative
    C.greater_than(1.)
    C.greater_than_eq(1.)
    C.less_than(1.)
    C.multinomial(3)
    C.unit_interval
    C.interval(-1., 2.)
    C.half_open_interval(0., 1.)
    C.simplex
    C.lower_triangular
    C.lower_cholesky
    C.corr_cholesky
    C.square
    C.symmetric
    C.positive_semidefinite
    C.positive_definite
    C.cat([C.positive, C.real], 0, [1, 1])
    C.stack([C.positive, C.real], 0)
    C.independent(C.positive, 2)
    C.independent(C.positive, -1)
    C.MixtureSameFamilyConstraint(C.positive)
    C.dependent
    C.dependent(is_discrete=True, event_dim=1)
    D.Uniform.support
"""
_VALUES = [
    "[[0., 1.], [1., 0.]]",
    "[[1., 0.], [.5, 2.]]",
    "[[2., 1.], [1., 2.]]",
    "[[-1., float('nan')], [3., 1.]]",
    "[[1., 0.], [.6, .8]]",
    "[[.25, .75], [.5, .5]]",
    "[[1., 2., 3.], [0., 0., 1.]]",
    "1.",
]


def constraint_facts(torch: Any, text: str) -> Any:
    """What a constraint answers, and the transforms to it."""
    D = torch.distributions
    c = attempt(lambda: eval(text, {"D": D, "C": D.constraints}))  # noqa: S307
    if isinstance(c, str):
        return c
    points = torch.tensor([[0.3, -0.7], [1.2, 0.1]], dtype=torch.float64)
    found = {value: attempt(lambda value=value: c.check(torch.tensor(eval(value)))) for value in _VALUES}  # noqa: S307
    for name in ("biject_to", "transform_to"):
        found[name] = attempt(
            lambda name=name: (lambda t: [repr(t), t(points), t.inv(t(points))])(getattr(D, name)(c))
        )
    return {
        **found,
        "text": repr(c) if "support" not in text else None,
        "event_dim": attempt(lambda: c.event_dim),
        "discrete": attempt(lambda: c.is_discrete),
        "dependent": D.constraints.is_dependent(c),
    }


@CASES
def constraints(torch: Any) -> Any:
    return {text: constraint_facts(torch, text) for text in split(CONSTRAINTS)}


# --- what is refused ------------------------------------------------------------------------------

REFUSED = """
    D.Bernoulli()
    D.Bernoulli(.5, .5)
    D.Bernoulli(2.)
    D.Bernoulli('a')
    D.Beta(-1., 1.)
    D.Binomial(-1, const([.5]))
    D.Binomial(1.5, const([.5]))
    D.Binomial(const([3, 4]), .5).enumerate_support()
    D.Binomial(const([3, 4]), const([.5, .5])).entropy()
    D.Categorical(const(.5))
    D.Categorical(logits=const(.5))
    D.Categorical(const([.5, -.5]))
    D.Cauchy(0., 0.)
    D.Chi2(-1.)
    D.ContinuousBernoulli(1.5)
    D.ContinuousBernoulli(1.5, validate_args=True)
    D.Dirichlet(const(1.))
    D.Dirichlet(const([1., -1.]))
    D.Exponential(-1.)
    D.FisherSnedecor(1., -1.)
    D.Gamma(1., -1.)
    D.GeneralizedPareto(0., -1., 1.)
    D.Geometric(0.)
    D.Geometric(const([0., .5]))
    D.Gumbel(0., -1.)
    D.HalfCauchy(-1.)
    D.HalfNormal(-1.)
    D.Independent(D.Normal(0., 1.), 1)
    D.InverseGamma(1., -1.)
    D.Kumaraswamy(1., -1.)
    D.LKJCholesky(1)
    D.LKJCholesky(3, -1.)
    D.Laplace(0., -1.)
    D.LogNormal(0., -1.)
    D.LogisticNormal(0., -1.)
    D.LowRankMultivariateNormal(const(0.), const([[1.]]), const([1.]))
    D.LowRankMultivariateNormal(const([0.]), const([1.]), const([1.]))
    D.LowRankMultivariateNormal(const([0.]), const([[1.], [1.]]), const([1.]))
    D.LowRankMultivariateNormal(const([0.]), const([[1.]]), const([1., 1.]))
    D.LowRankMultivariateNormal(const([0.]), const([[1.]]), const([-1.]))
    D.LowRankMultivariateNormal(const([[0.], [0.]]), const([[[1.]], [[1.]], [[1.]]]), const([1.]))
    D.MixtureSameFamily(D.Normal(0., 1.), D.Normal(0., 1.))
    D.MixtureSameFamily(D.Categorical(const([.5, .5])), 3)
    D.MixtureSameFamily(D.Categorical(const([.5, .5])), D.Normal(const([0.]), const([1.])))
    D.MixtureSameFamily(D.Categorical(const([[.5, .5]] * 3)), D.Normal(const([[0., 0.]] * 2), 1.))
    D.MixtureSameFamily(D.Categorical(const([.5, .5])), D.Normal(0., 1.))
    D.Multinomial(const(3.), const([.5, .5]))
    D.MultivariateNormal(const([0.]))
    D.MultivariateNormal(const(0.), const([[1.]]))
    D.MultivariateNormal(const([0.]), const([1.]))
    D.MultivariateNormal(const([0.]), scale_tril=const([1.]))
    D.MultivariateNormal(const([0.]), const([[-1.]]))
    D.MultivariateNormal(const([0., 0.]), scale_tril=const([[1., 1.], [1., 1.]]))
    D.NegativeBinomial(-1., const([.5]))
    D.NegativeBinomial(1., const([1.]))
    D.Normal(0., 'a')
    D.Normal(const([0.]), const([math.nan]))
    D.Normal(const([0., 0.]), const([1., 1., 1.]))
    D.OneHotCategorical(const([-1., 2.]))
    D.Pareto(-1., 1.)
    D.Poisson(-1.)
    D.RelaxedBernoulli(const(1.), 2.)
    D.RelaxedOneHotCategorical(const(1.), const([-1., 2.]))
    D.StudentT(-1.)
    D.TransformedDistribution(D.Normal(0., 1.), 3)
    D.TransformedDistribution(D.Normal(0., 1.), [3])
    D.TransformedDistribution(D.Normal(0., 1.), D.StickBreakingTransform())
    D.Uniform(1., 0.)
    D.VonMises(0., -1.)
    D.Weibull(1., -1.)
    D.Wishart(3.)
    D.Wishart(3., const([1.]))
    D.Wishart(.5, const([[1., 0.], [0., 1.]]))
    D.Wishart(3., const([[1., 0.], [0., -1.]]))
    D.biject_to(3)
    D.biject_to.register(3, 4)
    D.biject_to(D.constraints.positive_definite)
    D.Distribution.set_default_validate_args(3)
    D.Distribution(validate_args=False).mean
    D.Distribution(validate_args=False).mode
    D.Distribution(validate_args=False).expand((2,))
    D.Distribution(validate_args=False).sample()
    D.Distribution(validate_args=False).batch_shape
    D.Distribution()._validate_sample(const(1.))
    D.Normal(0., 1., validate_args=False).log_prob(3.)
    D.Normal(0., -1., validate_args=False)
    D.Gamma(2., 3.).log_prob(1.)
    D.HalfNormal(1., validate_args=False).log_prob(const([-1., 1.]))
    D.HalfCauchy(1., validate_args=False).log_prob(-1.)
    D.Uniform(0., 1., validate_args=False).log_prob(const([-1., 0., 1.]))
    D.utils.broadcast_all(1, const([1., 2.]), True)
    D.utils.tril_matrix_to_vec(const([[1., 2.], [3., 4.]]), 3)
    D.utils.tril_matrix_to_vec(const([[1., 2.], [3., 4.]]), 0)
    D.utils.vec_to_tril_matrix(const([1., 2., 3.]), -1)
    D.utils.vec_to_tril_matrix(const([1., 2.]), 0)
    D.utils.probs_to_logits(const([0., .5, 1.])), D.utils.logits_to_probs(const([0., 1.]), True)
    D.Normal(0., 1.).sample_n(2)
    D.Nothing
"""


@CASES
def refused(torch: Any) -> Any:
    leaves = Leaves(torch, "float32")
    return {text: attempt(lambda text=text: leaves(text)) for text in split(REFUSED)}


if __name__ == "__main__":
    import torch

    CASES.record(torch)
