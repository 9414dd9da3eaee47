"""Optimizers, schedulers and loaders beside PyTorch's, and optimizer states from one to the other."""

from __future__ import annotations

import copy
import inspect
import io
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from answers import difference, plain, same  # noqa: E402
from data_behaviours import DATA  # noqa: E402
from docstring_behaviours import DOCSTRINGS  # noqa: E402
from optim_behaviours import (  # noqa: E402
    OPTIM,
    built,
    give_grads,
    parameters,
    runs,
)
from scheduler_behaviours import SCHEDULERS, follow, optimizer, schedule, texts  # noqa: E402
from tensor_behaviours import TENSOR  # noqa: E402

_ALL = [(table, name) for table in (OPTIM, SCHEDULERS, DATA, TENSOR, DOCSTRINGS) for name in table]


@pytest.mark.parametrize(("table", "name"), _ALL, ids=[name for _, name in _ALL])
def test_beside_pytorch(table: Any, name: str) -> None:
    wanted, got = table.answer(name, torch), table.answer(name, rushlight)
    assert same(got, wanted, 1e-15), difference(got, wanted)


def _passed_on(state: Any, giver: Any, taker: Any) -> Any:
    """A state through a file that the one package writes and the other reads."""
    file = io.BytesIO()
    giver.save(state, file)
    file.seek(0)
    return taker.load(file)


@pytest.mark.parametrize(
    ("giver", "taker"), [(torch, rushlight), (rushlight, torch)], ids=["from_pytorch", "to_pytorch"]
)
@pytest.mark.parametrize("text", [text for text, dtype in runs() if dtype == "float64"])
def test_optimizer_state_changes_hands(text: str, giver: Any, taker: Any) -> None:
    ps, qs = parameters(giver), parameters(taker)
    first, second = built(giver, text, ps), built(taker, text, qs)
    for step in (1, 2):
        give_grads(giver, ps, step)
        first.step()
    state, values = _passed_on([first.state_dict(), [p.detach() for p in ps]], giver, taker)
    second.load_state_dict(state)
    # Loading casts numbers such as NAdam's mu_product: the giver loads as well.
    first.load_state_dict(copy.deepcopy(first.state_dict()))
    for q, v in zip(qs, values, strict=True):
        q.data.copy_(v)
    for step in (3, 4):
        for package, o, leaves in ((giver, first, ps), (taker, second, qs)):
            give_grads(package, leaves, step)
            o.step()
    got, wanted = plain([qs, second.state_dict()]), plain([ps, first.state_dict()])
    assert same(got, wanted, 1e-9), difference(got, wanted)


@pytest.mark.parametrize(
    ("giver", "taker"), [(torch, rushlight), (rushlight, torch)], ids=["from_pytorch", "to_pytorch"]
)
@pytest.mark.parametrize("text", [t for t in texts() if "Chained" not in t and "Sequential" not in t])
def test_scheduler_state_changes_hands(text: str, giver: Any, taker: Any) -> None:
    first, second = optimizer(giver), optimizer(taker)
    s, t = schedule(giver, text, first), schedule(taker, text, second)
    follow(first, s, 4)
    second.load_state_dict(first.state_dict())
    t.load_state_dict(s.state_dict())
    assert follow(second, t, 5) == follow(first, s, 5)


# What goes beyond this PyTorch, by keyword alone: our own, and a newer PyTorch's.
_MORE = {"utils.data.DataLoader": ("worker", "watchdog"), "optim.LBFGS": ("maximize",)}


def _signature(function: Any) -> list[Any]:
    return [
        (p.name, p.kind, p.default if isinstance(p.default, (int, float, str, type(None), tuple)) else "...")
        for p in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize(
    "name",
    [
        "optim.SGD",
        "optim.Adam",
        "optim.AdamW",
        "utils.data.DataLoader",
        "optim.Optimizer",
        "utils.data.RandomSampler",
        "optim.swa_utils.SWALR",
        "optim.swa_utils.AveragedModel",
        "optim.swa_utils.update_bn",
        *[f"optim.{n}" for n in torch.optim.__all__ if n[0].isupper()],
        *[f"optim.lr_scheduler.{n}" for n in torch.optim.lr_scheduler.__all__],
    ],
)
def test_signatures(name: str) -> None:
    theirs, ours = torch, rushlight
    for part in name.split("."):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    assert [p for p in _signature(ours) if p[0] not in _MORE.get(name, ())] == _signature(theirs)


@pytest.mark.parametrize("module", ["optim.lr_scheduler", "utils.data"])
def test_every_public_name_is_there(module: str) -> None:
    theirs, ours = torch, rushlight
    for part in module.split("."):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    missing = {n for n in theirs.__all__ if not hasattr(ours, n)}
    # Data pipes are an experiment that PyTorch has stopped.
    assert {n for n in missing if "DataPipe" not in n} <= {
        "DFIterDataPipe",
        "DataChunk",
        "_DatasetKind",
        "argument_validation",
        "functional_datapipe",
        "guaranteed_datapipes_determinism",
        "non_deterministic",
        "runtime_validation",
        "runtime_validation_disabled",
    }
