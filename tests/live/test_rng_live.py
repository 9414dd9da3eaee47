"""Random numbers beside PyTorch's, bit for bit, and states handed from one to the other."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from rng_cases import cases, outcome  # noqa: E402 - shared with the recorded tests


def test_every_case() -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, ours), (_, theirs) in zip(cases(rushlight), cases(torch), strict=True):
            found, expected = outcome(rushlight, ours), outcome(torch, theirs)
            if name.startswith("dirichlet"):  # a sum in another order
                found, expected = found[-1:], expected[-1:]
            if found != expected:
                wrong.append(f"{name}: {found} instead of {expected}")
    assert not wrong, "\n".join(wrong[:20])


def _both(call: Any) -> tuple[Any, Any]:
    return call(rushlight).numpy(), call(torch).numpy()


@pytest.mark.parametrize("drawn", [0, 1, 5, 16, 624, 1000])
def test_states_are_exchanged(drawn: int) -> None:
    torch.manual_seed(5)
    torch.randn(3)  # leaves a kept normal behind
    torch.rand(drawn)
    rushlight.set_rng_state(rushlight.from_numpy(torch.get_rng_state().numpy().copy()))
    a, b = _both(lambda m: m.randn(5))
    assert np.array_equal(a, b)
    torch.set_rng_state(torch.from_numpy(rushlight.get_rng_state().numpy().copy()))
    a, b = _both(lambda m: m.randn(1000))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("seed", range(3))
def test_many_normals(seed: int) -> None:
    for m in (rushlight, torch):
        m.manual_seed(seed)
    a, b = _both(lambda m: m.randn(300_001))
    assert np.array_equal(a.view(np.int32), b.view(np.int32))


@pytest.mark.parametrize("n", [60_000, 100_003])
def test_large_permutations(n: int) -> None:
    for m in (rushlight, torch):
        m.manual_seed(n)
    a, b = _both(lambda m: m.randperm(n))
    assert np.array_equal(a, b)


_INITIALISERS = (
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "eye_",
    "trunc_normal_",
    "normal_",
    "uniform_",
    "zeros_",
    "ones_",
)


@pytest.mark.parametrize("name", _INITIALISERS)
@pytest.mark.parametrize("of", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("size", [(4, 5), (30, 40)])
def test_initialisers(name: str, of: str, size: tuple[int, ...]) -> None:
    made = []
    for m in (rushlight, torch):
        m.manual_seed(3)
        made.append(getattr(m.nn.init, name)(m.empty(size, dtype=getattr(m, of))).tolist())
    assert made[0] == made[1]


@pytest.mark.parametrize("bounds", [(0.0, 0.02, -2.0, 2.0), (0.0, 1.0, 1.5, 3.0), (2.0, 0.5, 0.0, 1.0)])
def test_truncated_normals(bounds: tuple[float, ...]) -> None:
    made = []
    for m in (rushlight, torch):
        m.manual_seed(3)
        made.append(m.nn.init.trunc_normal_(m.empty(500), *bounds))
    assert np.allclose(made[0].numpy(), made[1].numpy(), rtol=1e-6)


@pytest.mark.parametrize("size", [(5, 3), (3, 5), (4, 3, 2)])
def test_orthogonal(size: tuple[int, ...]) -> None:
    made = []
    for m in (rushlight, torch):
        m.manual_seed(3)
        made.append(m.nn.init.orthogonal_(m.empty(size)).numpy())
    assert np.allclose(made[0], made[1], atol=1e-5)


def test_dropout_masks_of_long_inputs() -> None:
    for m in (rushlight, torch):
        m.manual_seed(8)
    a, b = _both(lambda m: m.nn.functional.dropout(m.ones(50_000), 0.37))
    assert np.array_equal(a, b)
