"""Transforms beside an installed PyTorch: programs, values, shapes and the errors."""

from __future__ import annotations

import warnings

import pytest

import rushlight
from tests.func.behaviours import BEHAVIOURS
from tests.func.programs import PROGRAMS

torch = pytest.importorskip("torch")


def arrays(result):
    return [t.detach().numpy() for t in result]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, got = arrays(program(torch)), arrays(program(rushlight))
    assert len(got) == len(expected)
    for g, e in zip(got, expected):
        assert g.shape == e.shape
        np.testing.assert_allclose(g, e, 2e-4, 2e-5)


def outcome(package, behaviour):
    """What a behaviour answers, or the error's type and first words."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = behaviour(package)
        except Exception as error:
            return type(error).__name__, " ".join(str(error).split()[:6])
    slow = any("performance drop" in str(w.message) for w in seen)
    return [
        (tuple(t.shape), t.detach().tolist(), t.requires_grad)
        for t in ([found] if hasattr(found, "shape") else found)
    ], slow


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_behaviour(name):
    got, expected = (outcome(package, BEHAVIOURS[name]) for package in (rushlight, torch))
    if isinstance(expected[0], str):
        assert got == expected
        return
    assert got[1] is expected[1]
    for (shape, values, tracked), (shape_, values_, tracked_) in zip(got[0], expected[0], strict=True):
        assert (shape, tracked) == (shape_, tracked_)
        assert rushlight.tensor(values).sub(rushlight.tensor(values_)).abs().max() < 1e-5 if values else True
