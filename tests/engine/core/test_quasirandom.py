"""torch.quasirandom.SobolEngine: PyTorch 2.13's points, plain and scrambled."""

from __future__ import annotations

import hashlib

import pytest

import rushlight as torch
from rushlight.quasirandom import SobolEngine


def test_direction_numbers_of_all_dimensions() -> None:
    state = SobolEngine(SobolEngine.MAXDIM).sobolstate
    assert state.shape == (21201, 30) and state.dtype == torch.int64
    assert (
        hashlib.md5(state.numpy().tobytes(), usedforsecurity=False).hexdigest()
        == "749d0e591a2d30849f871bc7d7d8b985"
    )


def test_points() -> None:
    engine = SobolEngine(2)
    assert engine.draw(5).tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375]]
    assert engine.num_generated == 5 and engine.draw(0).shape == (0, 2)
    assert SobolEngine(2).fast_forward(3).draw(2).tolist() == [[0.25, 0.75], [0.375, 0.375]]
    assert engine.reset().draw_base2(1).tolist() == [[0, 0], [0.5, 0.5]]
    out = torch.empty(2)
    assert SobolEngine(2).draw(1, out=out, dtype=torch.float64) is out and out.shape == (1, 2)
    assert repr(SobolEngine(3, scramble=True, seed=5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"


def test_scrambled_points_are_pytorchs() -> None:
    engine = SobolEngine(3, scramble=True, seed=5)
    assert engine.shift.tolist() == [515708045, 125905764, 133132919]
    assert engine.sobolstate[0, :5].tolist() == [619217127, 409717082, 164352472, 124099956, 55872875]
    found = engine.draw(3)
    wanted = [[0.4803, 0.1173, 0.1240], [0.9115, 0.8687, 0.5391], [0.5351, 0.2715, 0.3079]]
    assert torch.allclose(found, torch.tensor(wanted), atol=1e-4)
    assert engine.quasi.tolist() == [574512432, 291532081, 330569917]


def test_refusals() -> None:
    for dimension in (0, 30000):
        with pytest.raises(
            ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"
        ):
            SobolEngine(dimension)
    engine = SobolEngine(3)
    with pytest.raises(RuntimeError, match=r"negative dimension -2: \[-2, 3\]"):
        engine.draw(-1)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"n=3\+2\*\*3=11"):
        engine.draw_base2(3)
