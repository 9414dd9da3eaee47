"""Every layer and loss: repr, initial values, results, gradients as PyTorch's recorded ones."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch

_GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from nn_cases import Case, cases, run  # noqa: E402 - lives beside its recorded output


def _recorded() -> list[tuple[Case, dict[str, Any]]]:
    with np.load(_GOLDENS / "nn_layers.npz") as file:
        index, data = json.loads(str(file["index"])), file["data"].tobytes()
    found = []
    for case, entries in zip(cases(), index, strict=True):
        values = {}
        for name, entry in entries.items():
            if isinstance(entry, list):
                kind, shape, offset = entry
                count = int(np.prod(shape))
                entry = np.frombuffer(data, kind, count, offset).reshape(shape)
            values[name] = entry
        found.append((case, values))
    return found


def close(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Equal up to what another order of the same sums can change in float32."""
    size = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)) if wanted.size else 1.0
    return (
        got.shape == wanted.shape
        and got.dtype == wanted.dtype
        and np.allclose(got, wanted, rtol=2e-5, atol=2e-6 * size, equal_nan=True)
    )


@pytest.mark.parametrize(("case", "wanted"), _recorded(), ids=lambda v: getattr(v, "id", ""))
def test_layer(case: Case, wanted: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = run(torch, torch.nn, case)
    assert list(got) == list(wanted)
    for name, value in wanted.items():
        if isinstance(value, str):
            assert got[name] == value
        elif name.startswith("state:"):  # same seed, same numbers
            np.testing.assert_array_equal(got[name], value, err_msg=name)
        else:
            assert close(got[name], value), f"{name}: {got[name]} instead of {value}"
