"""nn.Module, containers, hooks, state dicts and nn.utils do what PyTorch was recorded to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch

_GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(_GOLDENS))
import nn_utils_behaviours  # noqa: E402, F401 - adds to BEHAVIOURS
from nn_behaviours import BEHAVIOURS, answer  # noqa: E402 - lives beside its recorded output

_WANTED = json.loads((_GOLDENS / "nn_behaviours.json").read_text())


def same(got: Any, wanted: Any) -> bool:
    """Equal, numbers up to rounding; texts of errors need only begin alike."""
    if isinstance(wanted, list):
        return (
            isinstance(got, list) and len(got) == len(wanted) and all(same(g, w) for g, w in zip(got, wanted))
        )
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and list(got) == list(wanted)
            and all(same(got[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, float) or isinstance(got, float):
        return bool(np.isclose(got, wanted, rtol=2e-5, atol=2e-6, equal_nan=True))
    if isinstance(wanted, str) and isinstance(got, str):
        # An error may say more than PyTorch's: what was got, what to do.
        return got == wanted or ("Error: " in wanted and got.startswith(wanted.rstrip(". ")))
    return bool(got == wanted)


def first_difference(got: Any, wanted: Any, path: str = "") -> str:
    """Where two answers part, for the failure's text."""
    if isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
        for i, (g, w) in enumerate(zip(got, wanted)):
            if not same(g, w):
                return first_difference(g, w, f"{path}[{i}]")
    return f"at {path}:\n got    {got}\n wanted {wanted}"


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_behaviour(name: str) -> None:
    got = json.loads(json.dumps(answer(BEHAVIOURS[name], torch, torch.nn)))
    wanted = _WANTED[name]
    assert same(got, wanted), first_difference(got, wanted)


def test_a_recurrence_runs_with_the_flat_weights_that_it_is_given() -> None:
    layer, x = torch.nn.LSTM(3, 4), torch.ones(2, 1, 3)
    layer._flat_weights = [torch.full_like(w, 0.1) for w in layer._flat_weights]
    assert abs(layer(x)[0].sum().item() - 1.9031360149383545) < 1e-6
    layer.weight_ih_l0 = torch.nn.Parameter(torch.zeros(16, 3))  # its own again, all of them
    assert layer._flat_weights[1] is layer.weight_hh_l0
