"""nn beside PyTorch: layers on fresh inputs, behaviours, signatures."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

_TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(_TESTS / "goldens"), str(_TESTS / "nn")]
import nn_utils_behaviours  # noqa: E402, F401 - adds to BEHAVIOURS
from nn_behaviours import BEHAVIOURS, answer  # noqa: E402
from nn_cases import Case, cases, run  # noqa: E402
from nn_signatures import module_names, signatures  # noqa: E402
from test_behaviours import first_difference, same  # noqa: E402
from test_layers import close  # noqa: E402


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.id)
def test_layer_beside_pytorch(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = run(torch, torch.nn, case, "live")
        got = run(rushlight, rushlight.nn, case, "live")
    assert list(got) == list(wanted)
    for name, value in wanted.items():
        if isinstance(value, str):
            assert got[name] == value
        else:
            assert close(got[name], value), f"{name}: {got[name]} instead of {value}"


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
def test_behaviour_beside_pytorch(name: str) -> None:
    wanted, got = (json.loads(json.dumps(answer(BEHAVIOURS[name], t, t.nn))) for t in (torch, rushlight))
    assert same(got, wanted), first_difference(got, wanted)


@pytest.mark.parametrize("name", module_names(torch.nn))
def test_signatures_beside_pytorch(name: str) -> None:
    ours, theirs = signatures(rushlight.nn, name), signatures(torch.nn, name)
    # A base class of ours may have a forward where PyTorch's has none.
    assert {what: ours[what] for what in theirs} == theirs


def test_every_method_of_module_is_there() -> None:
    # With three underscores: what PyTorch's compiler hangs on the class once something has loaded it.
    missing = [n for n in dir(torch.nn.Module) if not hasattr(rushlight.nn.Module, n) and n[:3] != "___"]
    assert set(missing) <= {"_slow_forward", "_maybe_warn_non_full_backward_hook"}


def test_every_name_is_there() -> None:
    theirs = {n for n in dir(torch.nn) if n[0].isupper()}
    assert theirs <= set(dir(rushlight.nn))
    for name in ("clip_grad", "init", "prune", "parametrize", "parametrizations", "rnn", "stateless"):
        assert hasattr(rushlight.nn.utils, name)
    assert np.all([hasattr(rushlight.nn.utils, n) for n in torch.nn.utils.__all__])
