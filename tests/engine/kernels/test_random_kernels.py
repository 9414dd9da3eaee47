"""The machine code of random numbers gives the bits that NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.moves.box_muller import normals
from rushlight._engine.kernels.moves.mersenne_twister import words as drawing
from rushlight._engine.kernels.moves.shuffle import exchanges
from rushlight._engine.numerics import box_muller, random_integers, rejection_samplers
from rushlight._engine.numerics.rng import Engine

pytestmark = pytest.mark.skipif(not target.available(), reason="needs llvmlite")


def _compiled(kernel: Any) -> Any:
    if not kernel.compile_now():
        pytest.skip("this processor has no fused multiply-add")
    return kernel.fn


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 1.7)])
def test_normals(mean: float, std: float) -> None:
    fast = _compiled(normals.__wrapped__())
    words = Engine(1).words32(16 * 20000)
    made, expected = words.copy(), words.copy()
    fast(made, np.float32(mean), np.float32(std))
    box_muller.by_numpy(expected, np.float32(mean), np.float32(std))
    assert np.array_equal(made, expected)


def test_normals_of_extreme_words() -> None:
    fast = _compiled(normals.__wrapped__())
    words = np.array([0, 1, 0xFFFFFF, 0xFFFFFE, 0x800000, 0x7FFFFF, 0x400000, 0xC00000], np.uint32)
    groups = np.stack([np.repeat(words, 8).reshape(8, 8), np.tile(words, (8, 1))], 1)
    made, expected = groups.reshape(-1).copy(), groups.reshape(-1).copy()
    fast(made, np.float32(0), np.float32(1))
    box_muller.by_numpy(expected, np.float32(0), np.float32(1))
    assert np.array_equal(made, expected)


def test_words_go_on_where_numpy_stopped() -> None:
    fast = _compiled(drawing.__wrapped__())
    ours, theirs = Engine(9), Engine(9)
    for n in (*np.random.default_rng(0).integers(1, 3000, 60).tolist(), 624, 623, 625, 1, 1248):
        made = np.empty(n, np.uint32)
        fast(made, ours.memory)
        assert np.array_equal(made, theirs.single_words(n))
        assert np.array_equal(ours.get_state(), theirs.get_state())


@pytest.mark.parametrize("n", [2, 3, 10, 1000, 30000])
def test_exchanges(n: int) -> None:
    fast = _compiled(exchanges.__wrapped__())
    words = Engine(n).words32(n - 1)
    places = np.arange(n)
    fast(places, words)
    assert np.array_equal(places, random_integers.exchanged(words))


@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.parametrize("count", [5, 2501])
def test_gammas(of: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = np.concatenate([10.0 ** np.linspace(-5, 5, count), [0.0, 1.0, -1.0]]).astype(of)
    fast, slow = Engine(3), Engine(3)
    found = [rejection_samplers._gammas(fast, shapes) for _ in range(2)]
    monkeypatch.setattr(rejection_samplers, "_by_kernel", lambda *_: False)
    wanted = [rejection_samplers._gammas(slow, shapes) for _ in range(2)]
    assert np.array_equal(found, wanted)
    assert fast.normal == slow.normal
    assert [fast.double() for _ in range(3)] == [slow.double() for _ in range(3)]


# From PyTorch 2.13: five of the gammas, the last of the Dirichlet's rows, the generator's next number.
GAMMAS = {
    "float32": [
        *(1.1754943508222875e-38, 7.686191581225452e-37, 0.20178645849227905, 336.6191101074219),
        *(99937.296875, 0.003105785232037306, 0.9968942403793335, 0.13208047095372255),
    ],
    "float64": [
        *(2.2250738585072014e-308, 7.686226471845749e-37, 0.20178646794152177, 336.6191307736201),
        *(99937.29585975385, 0.003105785282801371, 0.9968942147171986, 0.13208047095372255),
    ],
}


@pytest.mark.parametrize("of", GAMMAS)
def test_gammas_are_those_of_pytorch(of: str) -> None:
    kind = getattr(torch, of)
    torch.manual_seed(1)
    x = 10.0 ** (torch.arange(-2500, 2501, dtype=torch.float64) / 500)
    found = torch._standard_gamma(x.to(kind))
    shares = torch._sample_dirichlet(torch.tensor([0.3, 2.0]).to(kind).expand(2500, 2))
    after = torch.rand((), dtype=torch.float64)
    assert [*found[::1250].tolist(), *shares[-1].tolist(), after.item()] == GAMMAS[of]
