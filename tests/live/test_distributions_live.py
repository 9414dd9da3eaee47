"""Distributions, divergences, transforms and constraints beside PyTorch's."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

from tests.distributions.members import answers, differences  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from answers import Table, difference, same, split  # noqa: E402
from distribution_behaviours import DISTRIBUTIONS  # noqa: E402
from distribution_cases import (  # noqa: E402
    CASES,
    CONSTRAINTS,
    IMPLICIT,
    ROWS_BY_NAME,
    TRANSFORMS,
    constraint_facts,
    divergence,
    facts,
    implicit_gradients,
    pairs,
    transform_facts,
)


def _compare(function: Any, *arguments: Any, precision: float = 1e-9) -> None:
    table = Table("none.json")
    table["it"] = lambda package: function(package, *arguments)
    wanted, got = table.answer("it", torch), table.answer("it", rushlight)
    assert same(got, wanted, precision), difference(got, wanted)


# PyTorch's GeneralizedPareto refuses double precision, and the Bessel functions of its VonMises are good to 2e-7.
_SINGLE = ("GeneralizedPareto", "VonMises")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS_BY_NAME)
def test_distribution(name: str, dtype: str) -> None:
    for row in ROWS_BY_NAME[name]:
        if dtype == "float32" or name not in _SINGLE:
            _compare(facts, row, dtype)


# PyTorch's Wishart writes into a mask that its backward needs.
@pytest.mark.parametrize("name", sorted(IMPLICIT - {"Wishart"}))
def test_gradients_of_samples_are_pytorchs_up_to_its_own_error(name: str) -> None:
    for row in ROWS_BY_NAME[name]:
        _compare(implicit_gradients, row, precision=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergences(dtype: str) -> None:
    for p, q in pairs():
        _compare(divergence, p, q, dtype)


def test_registered_divergences() -> None:
    def names(package: Any) -> list[str]:
        registry = import_module(f"{package}.distributions.kl")._KL_REGISTRY
        return sorted(f"{p.__name__} {q.__name__}" for p, q in registry)

    assert names("rushlight") == names("torch")


@pytest.mark.parametrize("text", split(TRANSFORMS))
def test_transform(text: str) -> None:
    for dtype in ("float32", "float64"):
        _compare(transform_facts, text, dtype)


@pytest.mark.parametrize("text", split(CONSTRAINTS))
def test_constraint(text: str) -> None:
    _compare(constraint_facts, text)


@pytest.mark.parametrize(
    ("table", "name"), [(table, name) for table in (CASES, DISTRIBUTIONS) for name in table]
)
def test_recorded(table: Any, name: str) -> None:
    wanted, got = table.answer(name, torch), table.answer(name, rushlight)
    assert same(got, wanted), difference(got, wanted)


def test_members() -> None:
    assert differences(answers(rushlight), answers(torch)) == []


def test_names_and_modules() -> None:
    assert rushlight.distributions.__all__ == sorted(torch.distributions.__all__)
    for _, name, _ in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = import_module(f"torch.distributions.{name}")
        ours = import_module(f"rushlight.distributions.{name}")
        for public in getattr(theirs, "__all__", []):
            assert getattr(ours, public).__class__.__name__ == getattr(theirs, public).__class__.__name__, (
                public
            )


@pytest.mark.parametrize("name", torch.distributions.__all__)
def test_signatures(name: str) -> None:
    theirs, ours = getattr(torch.distributions, name), getattr(rushlight.distributions, name)
    if not callable(theirs) or "register" in name or name[0].islower():
        return

    def parameters(of: Any) -> list[Any]:
        return [(p.name, p.kind, p.default is p.empty) for p in inspect.signature(of).parameters.values()]

    assert parameters(ours) == parameters(theirs)
    missing = {attribute for attribute in dir(theirs) if attribute[0] != "_"} - set(dir(ours))
    assert not missing - {"concentration_reciprocal"}
