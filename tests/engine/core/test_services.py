"""Services: whoever asks by a name is answered, and every name is asked for."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import rushlight._engine.autograd
import rushlight._engine.kernels  # both register services
from rushlight._engine.core import services

ENGINE = Path(rushlight._engine.kernels.__file__).resolve().parents[1]


def asked() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in ENGINE.rglob("*.py")]
    return {name for text in texts for name in re.findall(r'\bservice\(\s*"([^"]+)"', text)}


@pytest.mark.parametrize("name", sorted(services.table()))
def test_each_row_of_the_table_is_a_function(name: str) -> None:
    module, _, function = services.table()[name].partition(":")
    assert services.service(name) is getattr(import_module(module), function)


def test_what_is_asked_for_is_what_is_offered() -> None:
    offered = {*services.table(), *services._homes}
    assert asked() - offered == set()
    assert set(services.table()) - asked() == set()
    assert not set(services.table()) & set(services._homes)


def test_a_name_has_one_function() -> None:
    with pytest.raises(ValueError, match="is rushlight._engine.autograd.saved_tensor_hooks:packing already"):
        services.register("elsewhere", {"saved tensors are packed": "x:y"})


def test_a_name_that_nobody_offers_answers_none() -> None:
    assert services.service("no such service")(1, 2) is None
