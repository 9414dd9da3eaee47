"""torch.distributions draws and weighs as PyTorch was recorded to."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from distribution_behaviours import DISTRIBUTIONS

test_behaviour = DISTRIBUTIONS.compared(torch)


def test_what_a_distribution_cannot_tell() -> None:
    with pytest.raises(AttributeError, match="module 'torch.distributions' has no attribute 'Nothing'"):
        torch.distributions.Nothing
    with pytest.raises(NotImplementedError, match="Bernoulli'> does not implement rsample"):
        torch.distributions.Bernoulli(0.5).rsample()
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass but got 3"):
        torch.distributions.register_kl(3, torch.distributions.Normal)


def test_modules_of_one_distribution() -> None:
    from rushlight.distributions.half_normal import HalfNormal
    from rushlight.distributions.relaxed_bernoulli import LogitRelaxedBernoulli

    assert HalfNormal is torch.distributions.HalfNormal
    assert LogitRelaxedBernoulli is type(
        torch.distributions.RelaxedBernoulli(torch.tensor(1.0), 0.5).base_dist
    )


def test_nothing_is_loaded_before_it_is_named() -> None:
    code = (
        "import sys, rushlight; assert 'rushlight.distributions' not in sys.modules; "
        "rushlight.distributions.Normal; assert 'rushlight.distributions.families.gamma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(("x", "a"), [(1e-3, 0.02), (0.3, 0.5), (4.0, 2.0), (30.0, 40.0), (2100.0, 2000.0)])
def test_gamma_samples_move_as_their_distribution_function_says(x: float, a: float) -> None:
    x, a, h = torch.tensor(x, dtype=torch.float64), torch.tensor(a, dtype=torch.float64), 1e-4 * a
    p = torch.special.gammainc
    slope = (8 * (p(a + h, x) - p(a - h, x)) - p(a + 2 * h, x) + p(a - 2 * h, x)) / (12 * h)
    density = torch.exp((a - 1) * x.log() - x - torch.lgamma(a))
    assert torch._standard_gamma_grad(a, x).item() == pytest.approx((-slope / density).item(), rel=1e-6)


def test_a_share_of_two_moves_as_a_quotient_of_gammas() -> None:
    # Beta(a, 1)'s distribution function is x^a, so that x moves by -x log(x) / a.
    x = torch.linspace(0.01, 0.99, 50, dtype=torch.float64)
    for a in (0.1, 1.0, 7.0, 300.0):
        at = torch.full_like(x, a)
        wanted = -x * x.log() / a / (1 - x)
        assert torch.allclose(torch._dirichlet_grad(x, at, at + 1), wanted, rtol=1e-8)


def test_bregman_divergences_are_the_closed_forms() -> None:
    from rushlight.distributions.exp_family import ExponentialFamily, bregman

    d = torch.distributions
    p, q = d.Dirichlet(torch.tensor([1.5, 2.0, 0.7])), d.Dirichlet(torch.tensor([1.0, 3.0, 2.0]))
    assert torch.allclose(bregman(p, q), d.kl_divergence(p, q), atol=1e-5)
    w = d.Wishart(5.0, torch.eye(2) + 0.5)
    assert torch.allclose(ExponentialFamily.entropy(w), w.entropy(), atol=1e-4)


def test_expand_of_a_subclass() -> None:
    class Own(torch.distributions.Normal):
        def __init__(self, both: float) -> None:
            super().__init__(both, both)

    class Named(torch.distributions.Normal):
        def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
            new = self._get_checked_instance(Named, _instance)
            new.name = "expanded"
            return super().expand(batch_shape, _instance=new)

    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Own(1.0).expand((2,))
    found = Named(0.0, 1.0).expand((2,))
    assert (found.name, found.loc.shape, type(found)) == ("expanded", (2,), Named)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("Normal", (0.0, 1.0)),
        ("Gamma", (3.0, 6.0)),
        ("LogNormal", (0.0, 1.0)),
        ("MultivariateNormal", (torch.zeros(2), torch.eye(2))),
    ],
)
def test_a_distribution_that_is_a_module_as_well(kind: str, arguments: tuple[Any, ...]) -> None:
    base: Any = getattr(torch.distributions, kind)

    def __init__(self: Any) -> None:
        torch.nn.Module.__init__(self)
        base.__init__(self, *arguments, validate_args=False)

    prior: Any = type("Prior", (base, torch.nn.Module), {"__init__": __init__})()
    prior.bound = torch.nn.Parameter(torch.ones(2))
    assert list(prior.to(torch.float64).parameters()) == [prior.bound] and prior.bound.dtype == torch.float64


def test_sums_under_pytorchs_name() -> None:
    assert torch.distributions.utils._sum_rightmost(torch.ones(2, 3, 4), 2).tolist() == [12, 12]


def test_saved_by_pytorchs_names() -> None:
    normal = torch.distributions.LogNormal(torch.zeros(2), 1.0)
    file = io.BytesIO()
    torch.save(normal, file)
    assert b"ctorch.distributions.normal\nNormal\n" in file.getvalue()
    assert b"ctorch.distributions.transforms\nExpTransform\n" in file.getvalue()
    file.seek(0)
    assert torch.load(file, weights_only=False).loc.tolist() == [0, 0]
    assert inspect.getsource(torch.distributions.Normal).startswith("class Normal(")


def test_the_class_of_inverses_has_a_name() -> None:
    transforms = torch.distributions.transforms
    assert isinstance(transforms.ExpTransform().inv, transforms._InverseTransform)
