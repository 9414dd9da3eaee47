"""The machine code of random numbers gives the bits that NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.moves.box_muller import normals
from rushlight._engine.kernels.moves.mersenne_twister import words as drawing
from rushlight._engine.kernels.moves.shuffle import exchanges
from rushlight._engine.numerics import box_muller, random_integers
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
