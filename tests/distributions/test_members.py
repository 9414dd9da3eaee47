"""Every distribution: draws, densities, moments, gradients and divergences are PyTorch's, recorded by
record_distributions.py; transforms; what is refused.
"""

import json
import pickle
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import distributions as D
from tests.distributions.members import answers, differences

RECORD = json.loads((Path(__file__).parents[1] / "goldens" / "distribution_members.json").read_text())


@pytest.fixture(scope="module")
def told():
    return json.loads(json.dumps(answers(torch)))


@pytest.mark.parametrize("name", RECORD)
def test_answers_are_pytorchs(told, name):
    assert differences({name: told[name]}, {name: RECORD[name]}) == []


def test_gradients_of_gamma_draws():
    shape = torch.ones(2, requires_grad=True)
    D.Gamma(shape, 1.0).rsample().sum().backward()
    assert (shape.grad > 0).all()


TRANSFORMS = {
    "exp": D.ExpTransform(),
    "sigmoid": D.SigmoidTransform(),
    "softplus": D.SoftplusTransform(),
    "tanh": D.TanhTransform(),
    "affine": D.AffineTransform(0.5, torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)),
    "stick": D.StickBreakingTransform(),
    "chain": D.ComposeTransform([D.AffineTransform(1.0, 0.5), D.ExpTransform()]),
    "power": D.ComposeTransform([D.ExpTransform(), D.PowerTransform(2.0)]),
    "independent": D.IndependentTransform(D.TanhTransform(), 1),
    "inverse": D.SigmoidTransform().inv.inv,
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_inverses_and_slopes(transform):
    torch.manual_seed(0)
    x = torch.randn(4, 3, dtype=torch.float64) * 0.5
    y = transform(x)
    torch.testing.assert_close(transform.inv(y), x)
    assert transform.domain.check(x).all() and transform.codomain.check(y).all()
    slope = transform.log_abs_det_jacobian(x, y)
    torch.testing.assert_close(transform.inv.log_abs_det_jacobian(y, x), -slope)
    if transform.domain.event_dim == 0:
        point = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(transform(point).sum(), point)
        torch.testing.assert_close(slope.expand_as(x), found.abs().log())
    # As in PyTorch, what is independent is equal to itself only.
    assert transform == (
        transform if isinstance(transform, D.IndependentTransform) else transform.with_cache()
    )
    assert transform != D.AbsTransform()


def test_caches():
    cached, x = D.TanhTransform(cache_size=1), torch.full((2,), 20.0)
    assert cached.inv(cached(x)) is x and D.TanhTransform().inv(D.TanhTransform()(x)).isinf().all()
    again = pickle.loads(pickle.dumps(cached))
    assert again == cached
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


def test_own_divergences():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def mine(p, q):
        return "mine"

    normal = D.Normal(0.0, 1.0)
    assert D.kl_divergence(Mine(0.0, 1.0), normal) == "mine" and D.kl_divergence(normal, Mine(0.0, 1.0)) == 0
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(normal, D.Cauchy(0.0, 1.0))
    with pytest.raises(
        NotImplementedError, match="cross KL-divergence between different exponential families"
    ):
        D.kl_divergence(normal, D.Poisson(1.0))
    with pytest.raises(TypeError, match="subclass"):
        D.register_kl(1.0, D.Normal)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: D.Uniform(1.0, 0.0), ValueError, "Expected parameter low"),
        (lambda: D.Beta(-1.0, 1.0), ValueError, "Expected parameter"),
        (lambda: D.Gamma(1.0), TypeError, "missing 1 required positional argument: 'rate'"),
        (lambda: D.Gamma(1.0, 2.0, scale=3.0), TypeError, "unexpected keyword argument 'scale'"),
        (lambda: D.Dirichlet(torch.tensor(1.0)), ValueError, "at least one-dimensional"),
        (lambda: D.Binomial(3), ValueError, "Either `probs` or `logits`"),
        (
            lambda: D.Multinomial(torch.tensor(3), torch.ones(2)),
            NotImplementedError,
            "inhomogeneous total_count",
        ),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "Expected reinterpreted_batch_ndims"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), "exp"), ValueError, "must be a Transform"),
        (
            lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
            ValueError,
            "Mixture distribution",
        ),
        (
            lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)),
            ValueError,
            "does not equal",
        ),
    ],
)
def test_what_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


class _Matrices(D.MultivariateNormal):
    """Draws in another shape, as subclasses of libraries give them."""

    def _extended_shape(self, sample_shape=()):
        return torch.Size((*sample_shape, 3, 2))


def test_a_subclass_shapes_draws_alone():
    normal = _Matrices(torch.zeros(6), torch.eye(6))
    assert normal.variance.shape == (6,)
    assert normal.log_prob(torch.zeros(6)).shape == ()


def test_the_sigmoid_of_the_transforms_stays_inside():
    x = torch.tensor([-1e4, 0.0, 1e4])
    found = D.transforms._clipped_sigmoid(x)
    assert found.tolist() == D.SigmoidTransform()(x).tolist() and found[0] > 0 and found[2] < 1
