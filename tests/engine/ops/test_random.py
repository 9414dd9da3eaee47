"""Random tensors give the numbers that PyTorch gave for the same seeds."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from rng_cases import cases, outcome  # noqa: E402 - lives beside its recorded outcomes

_RECORDED = json.loads((_GOLDENS / "rng.json").read_text())
# The last bit of these comes from the C library or from NumPy's vector loops, which differ between
# machines: three numbers are compared, and the rest only where this machine agrees on them.
_LIBRARY = (
    "exponential_",
    "log_normal_",
    "cauchy_",
    "normal",
    "randn",
    "rrelu",
    "multinomial",
    "poisson",
    "geometric_",
    "gamma",
    "dirichlet",
    "binomial",
)


def _agrees(name: str, found: Any, expected: Any) -> bool:
    if found == expected or not name.startswith(_LIBRARY) or len(found) != len(expected):
        return bool(found == expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, list) and not (
            a[:3] == b[:3] and np.allclose(np.array(a[3], np.float64), np.array(b[3], np.float64), rtol=1e-6)
        ):
            return False
    return True


def test_recorded_numbers() -> None:
    names, wrong = set(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, call in cases(rushlight):
            names.add(name)
            found = json.loads(json.dumps(outcome(rushlight, call)))
            if not _agrees(name, found, _RECORDED[name]):
                wrong.append(f"{name}: {found} instead of {_RECORDED[name]}")
    assert names == set(_RECORDED)
    assert not wrong, "\n".join(wrong[:20])


def test_generators_are_independent() -> None:
    first, second = (rushlight.Generator().manual_seed(1) for _ in range(2))
    rushlight.manual_seed(1)
    a, b, c = rushlight.randn(20, generator=first), rushlight.randn(20), rushlight.randn(20, generator=second)
    assert rushlight.equal(a, b) and rushlight.equal(a, c)


def test_generators_pickle() -> None:
    g = rushlight.Generator().manual_seed(9)
    rushlight.randn(3, generator=g)
    other = pickle.loads(pickle.dumps(g))
    assert other.initial_seed() == 9
    assert rushlight.equal(rushlight.randn(30, generator=g), rushlight.randn(30, generator=other))


@pytest.mark.parametrize("fill", ["uniform_", "normal_", "exponential_", "random_", "bernoulli_"])
def test_fills_cut_the_gradient(fill: str) -> None:
    x = rushlight.ones(3, requires_grad=True)
    y = x * 2
    getattr(y, fill)()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_dropout_has_the_gradient_of_its_mask() -> None:
    x = rushlight.ones(200, requires_grad=True)
    y = rushlight.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert rushlight.equal(x.grad, y.detach())
    assert set(y.tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}


def test_gumbel_softmax_is_one_hot_when_hard() -> None:
    logits = rushlight.zeros(50, 7, requires_grad=True)
    hard = rushlight.nn.functional.gumbel_softmax(logits, hard=True)
    assert rushlight.equal(hard.detach().sum(-1), rushlight.ones(50))
    (hard * rushlight.rand(50, 7)).sum().backward()
    assert logits.grad.abs().sum() > 0


def test_meta_tensors_draw_nothing() -> None:
    rushlight.manual_seed(0)
    before = rushlight.get_rng_state()
    rushlight.rand(10**6, 10**6, device="meta")
    rushlight.zeros(3, device="meta").normal_()
    rushlight.nn.functional.dropout(rushlight.ones(3, device="meta"))
    assert rushlight.equal(before, rushlight.get_rng_state())


def test_a_generator_of_no_device_is_the_cpus() -> None:
    assert (
        rushlight.Generator(None).device == rushlight.Generator(device=None).device == rushlight.device("cpu")
    )
    with pytest.raises(TypeError, match="argument 'device' .* must be torch.device, not float"):
        rushlight.Generator(1.5)


@pytest.mark.parametrize(
    "x",
    [
        rushlight.ones(4, 1, 16).expand(4, 24, 16),
        rushlight.ones(4, 1, 16).expand(4, 24, 16).view(4, 24, 2, 8),
        rushlight.ones(1, 8).expand(5, 8),
        rushlight.ones(7, 5).t().unsqueeze(1).expand(5, 6, 7),
    ],
)
def test_dropout_of_an_expanded_tensor_draws_as_empty_like_lies(x):
    rushlight.manual_seed(3)
    wanted = rushlight.empty_like(x).bernoulli_(0.5) * 2
    rushlight.manual_seed(3)
    found = rushlight.nn.functional.dropout(x, 0.5)
    assert rushlight.equal(found, wanted) and found.stride() == wanted.stride()


def test_gumbel_softmax_learns_its_temperature():
    rushlight.manual_seed(0)
    logits, tau = (
        rushlight.randn(3, 4, dtype=rushlight.float64),
        rushlight.tensor(0.7, dtype=rushlight.float64),
    )

    def drawn(logits, tau):
        rushlight.manual_seed(1)
        return rushlight.nn.functional.gumbel_softmax(logits, tau)

    assert rushlight.autograd.gradcheck(drawn, (logits.requires_grad_(), tau.requires_grad_()))


def test_no_categories_are_refused():
    for weights in (rushlight.empty(0), rushlight.empty(2, 0)):
        with pytest.raises(RuntimeError, match="over an empty dimension"):
            weights.multinomial(1, replacement=True)
        with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
            weights.multinomial(3, replacement=True)
    assert rushlight.empty(0, 3).multinomial(2).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_few_numbers_are_those_of_a_generator_of_the_same_seed(dtype: str) -> None:
    """A fill cuts few numbers out of a table from its second call on; with a generator named it has none."""
    calls: list[tuple[str, tuple[float, ...]]] = [("random_", ()), ("random_", (-3, 9))]
    calls += [("bernoulli_", (0.3,)), ("geometric_", (0.3,))]
    if dtype != "int64":
        calls += [("normal_", ()), ("normal_", (1.0, 3.0)), ("uniform_", (-1.0, 2.0)), ("log_normal_", ())]
        calls += [("exponential_", (2.0,)), ("cauchy_", (1.0, 3.0))]
    for name, numbers in calls:
        for size in (4, 16):
            g = rushlight.Generator().manual_seed(5)
            rushlight.manual_seed(5)
            x, y = (rushlight.empty(size, dtype=getattr(rushlight, dtype)) for _ in range(2))
            for k in range(24):
                getattr(x, name)(*numbers)
                assert x.equal(getattr(y, name)(*numbers, generator=g)), (name, numbers, size, k)
                if k == 18:  # leaves a normal behind
                    assert rushlight.randn(3).equal(rushlight.randn(3, generator=g))
