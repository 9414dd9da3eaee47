"""Distributions of every kind, and what each of them says, for any torch."""

import warnings


def members(torch):
    """By name: a function of x, which moves the parameters a little, and the parameters."""
    D, T = torch.distributions, torch.tensor(0.7)
    torch.manual_seed(0)
    a, p = torch.randn(2, 3).requires_grad_(), (torch.rand(2, 3) * 0.8 + 0.1).requires_grad_()
    s, t = ((torch.rand(2, 3) + 0.5).requires_grad_() for _ in "st")
    pr = torch.softmax(torch.randn(2, 3), -1).requires_grad_()
    return {
        "Uniform": lambda x=0: D.Uniform(a + x, a + s + 2 * x),
        "Exponential": lambda x=0: D.Exponential(s + x),
        "Laplace": lambda x=0: D.Laplace(a + x, s),
        "Cauchy": lambda x=0: D.Cauchy(a + x, s),
        "Gamma": lambda x=0: D.Gamma(s + x, t),
        "Chi2": lambda x=0: D.Chi2(s * 3 + x),
        "StudentT": lambda x=0: D.StudentT(s * 3, a + x, t),
        "Dirichlet": lambda x=0: D.Dirichlet(s * 2 + x),
        "Beta": lambda x=0: D.Beta(s + x, t + 1),
        "Poisson": lambda x=0: D.Poisson(s * 4 + x),
        "Geometric": lambda x=0: D.Geometric(p),
        "GeometricL": lambda x=0: D.Geometric(logits=a + x),
        "Binomial": lambda x=0: D.Binomial(10, p),
        "BinomialL": lambda x=0: D.Binomial(torch.tensor([3.0, 4.0, 5.0]), logits=a + x),
        "NegativeBinomial": lambda x=0: D.NegativeBinomial(s * 3, p),
        "OneHotCategorical": lambda x=0: D.OneHotCategorical(pr),
        "OneHotST": lambda x=0: D.OneHotCategoricalStraightThrough(logits=a + x * a),
        "Multinomial": lambda x=0: D.Multinomial(7, pr),
        "LogNormal": lambda x=0: D.LogNormal(a + x, s),
        "HalfNormal": lambda x=0: D.HalfNormal(s + x),
        "HalfCauchy": lambda x=0: D.HalfCauchy(s + x),
        "Gumbel": lambda x=0: D.Gumbel(a + x, s),
        "Weibull": lambda x=0: D.Weibull(s, t + x),
        "Pareto": lambda x=0: D.Pareto(s, t * 3 + x),
        "InverseGamma": lambda x=0: D.InverseGamma(s * 4 + x, t),
        "LogisticNormal": lambda x=0: D.LogisticNormal(a + x, s),
        "RelaxedBernoulli": lambda x=0: D.RelaxedBernoulli(T, p),
        "RelaxedOneHot": lambda x=0: D.RelaxedOneHotCategorical(T, pr),
        "Independent": lambda x=0: D.Independent(D.Normal(a + x, s), 1),
        "Tanh": lambda x=0: D.TransformedDistribution(
            D.Normal(a + x, s), [D.AffineTransform(0.5, 2.0), D.TanhTransform(cache_size=1)]
        ),
        "Sigmoid": lambda x=0: D.TransformedDistribution(
            D.Uniform(torch.zeros(3) + 0.1, torch.ones(3)),
            [D.SigmoidTransform().inv, D.AffineTransform(0.1, torch.tensor([1.0, 2.0, 3.0]))],
        ),
        "Stick": lambda x=0: D.TransformedDistribution(
            D.MultivariateNormal(a[0] + x, torch.eye(3)), D.StickBreakingTransform()
        ),
        "Mixture": lambda x=0: D.MixtureSameFamily(D.Categorical(pr), D.Normal(a + x, s)),
        "MixtureI": lambda x=0: D.MixtureSameFamily(
            D.Categorical(torch.ones(2)), D.Independent(D.Normal(a + x, s), 1)
        ),
        "Normal": lambda x=0: D.Normal(a + x, s),
        "Bernoulli": lambda x=0: D.Bernoulli(p),
        "BernoulliL": lambda x=0: D.Bernoulli(logits=a + x),
        "Categorical": lambda x=0: D.Categorical(pr),
        "CategoricalL": lambda x=0: D.Categorical(logits=a + x * a),
        "MVN": lambda x=0: D.MultivariateNormal(a + x, torch.eye(3) * (1 + x)),
        "num": lambda x=0: D.Beta(1.5, 2),
        "num2": lambda x=0: D.Uniform(0, 1),
        "num3": lambda x=0: D.Gamma(2.0, 3.0),
        "num4": lambda x=0: D.Exponential(2.0),
        "num5": lambda x=0: D.Binomial(5, 0.5),
    }, [a, s, t, p, pr]


def plain(value):
    """A tensor's dtype, shape and numbers; other things as text."""
    if not hasattr(value, "detach"):
        return str(value)
    numbers = value.detach().double().reshape(-1).tolist()
    return [str(value.dtype).replace("torch.", ""), list(value.shape), [float(f"{n:.7g}") for n in numbers]]


def attempt(call):
    """What a call gives, or the type of its error."""
    try:
        return plain(call())
    except Exception as error:
        return f"!{type(error).__name__}"


def gradients(torch, d, parameters):
    z = d.rsample((3,)) if d.has_rsample else d.sample((3,))
    found = torch.autograd.grad(d.log_prob(z).sum() + (z * 1.3).sum(), parameters, allow_unused=True)
    return torch.cat([g.reshape(-1) for g in found if g is not None])


def answers(torch):
    """What each distribution draws, weighs and tells."""
    made, parameters = members(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: asked(torch, make, parameters) for name, make in made.items()}


def asked(torch, make, parameters):
    D = torch.distributions
    torch.manual_seed(1)
    d = make()
    batch, event = tuple(d.batch_shape), tuple(d.event_shape)
    found = {
        "repr": repr(d),
        "told": str((batch, event, d.has_rsample, d.has_enumerate_support)),
        "sample": attempt(lambda: d.sample()),
        "samples": attempt(lambda: d.sample((2,))),
        "rsample": attempt(lambda: d.rsample((2,))),
    }
    torch.manual_seed(2)
    x = d.sample((2,))
    found["log_prob"], found["cdf"] = attempt(lambda: d.log_prob(x)), attempt(lambda: d.cdf(x))
    found["icdf"] = attempt(lambda: d.icdf(torch.full(batch + event, 0.3)))
    for name in ("mean", "variance", "stddev", "mode"):
        found[name] = attempt(lambda name=name: getattr(d, name))
    found["support"] = repr(d.support) if "tensor" not in repr(d.support) else "of tensors"
    found["entropy"], found["values"] = attempt(lambda: d.entropy()), attempt(lambda: d.enumerate_support())
    torch.manual_seed(3)
    found["expanded"] = attempt(lambda: d.expand((2, *batch)).sample())
    found["kl"] = attempt(lambda: D.kl_divergence(d, make(0.25)))
    found["to normal"] = attempt(lambda: D.kl_divergence(d, D.Normal(torch.zeros(batch), torch.ones(batch))))
    torch.manual_seed(4)
    found["gradients"] = attempt(lambda: gradients(torch, make(), parameters))
    found["outside"] = attempt(lambda: d.log_prob(torch.full((2, *batch, *event), -7.5)))
    return found


# The gradient of gamma draws by their shape is missing, and says so.
MISSING = {
    (name, "gradients")
    for name in ("Gamma", "Chi2", "StudentT", "Dirichlet", "Beta", "InverseGamma", "num", "num3")
}
# A Chi2 shows its parameter here; PyTorch's is a Gamma of another name.
SHOWN = {("Chi2", "repr")}


def differences(ours, theirs):
    """Where two answers differ, numbers by more than 2e-5 of themselves."""
    return [
        (name, key, ours[name][key], theirs[name][key])
        for name in theirs
        for key in theirs[name]
        if (name, key) not in MISSING | SHOWN and not alike(ours[name][key], theirs[name][key])
    ]


def alike(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return a[:2] == b[:2] and all(
        x == y or (x != x and y != y) or abs(x - y) <= 2e-5 * max(1, abs(y))
        for x, y in zip(a[2], b[2], strict=True)
    )
