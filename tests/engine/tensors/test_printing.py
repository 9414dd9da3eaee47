"""Printing: recorded PyTorch output for arrays of every kind, and what only tensors print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rushlight
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import CPU, META
from rushlight._engine.tensors import printing

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from printing_cases import Case, cases  # noqa: E402 - lives beside its recorded output

_CASES = list(zip(cases(), json.loads((_GOLDENS / "printing.json").read_text()), strict=True))


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    printing.set_printoptions(profile="default")
    yield
    printing.set_printoptions(profile="default")


def _tensor(array: Any, **facts: Any) -> Any:
    """A stand-in with the attributes that printing reads; its type is named Tensor."""
    array = np.asarray(array)
    shown = {
        "_array": array,
        "shape": array.shape,
        "dtype": dt.from_numpy_dtype(array.dtype),
        "device": CPU,
        "requires_grad": False,
        "grad_fn": None,
        "dim": lambda: array.ndim,
        "numel": lambda: array.size,
    }
    kind = type(facts.pop("kind", "Tensor"), (SimpleNamespace,), {})
    return kind(**{**shown, **facts})


@pytest.mark.parametrize("start", range(0, len(_CASES), 50))
def test_prints_what_pytorch_printed(start: int) -> None:
    for i, (case, expected) in enumerate(_CASES[start : start + 50], start):
        printing.set_printoptions(profile="default")
        printing.set_printoptions(**case.options)
        found = printing.tensor_repr(_tensor(case.data))
        assert found == expected, f"case {i}: {_describe(case)}"


def _describe(case: Case) -> str:
    return f"{case.dtype} {case.data.shape} {case.options}"


def test_node_name() -> None:
    node = type("MulBackward0", (), {})()
    t = _tensor(np.array([1.0, 2.5], np.float32), grad_fn=node, requires_grad=True)
    assert printing.tensor_repr(t) == "tensor([1.0000, 2.5000], grad_fn=<MulBackward0>)"


def test_leaf_that_requires_grad() -> None:
    t = _tensor(np.array(1.0, np.float32), requires_grad=True)
    assert printing.tensor_repr(t) == "tensor(1., requires_grad=True)"


def test_subclass_is_named() -> None:
    t = _tensor(np.array([1, 2]), kind="Mine")
    assert printing.tensor_repr(t) == "Mine([1, 2])"


def test_meta_tensor_prints_its_size() -> None:
    t = _tensor(np.zeros((2, 3), np.float32), device=META)
    assert printing.tensor_repr(t) == "tensor(..., device='meta', size=(2, 3))"
    t = _tensor(np.zeros(0, np.int32), device=META)
    assert printing.tensor_repr(t) == "tensor(..., device='meta', size=(0,), dtype=torch.int32)"


def test_suffix_goes_to_a_new_line_where_it_does_not_fit() -> None:
    t = _tensor(np.full(7, 1.25), requires_grad=True)
    lines = printing.tensor_repr(t).splitlines()
    assert lines[-1] == "       dtype=torch.float64, requires_grad=True)"


def test_default_dtype_decides_what_is_spelled() -> None:
    dt.set_default_dtype(dt.float64)
    try:
        assert printing.tensor_repr(_tensor(np.array([1.0]))) == "tensor([1.])"
        assert "dtype=torch.float32" in printing.tensor_repr(_tensor(np.array([1.0], np.float32)))
        assert printing.tensor_repr(_tensor(np.array([1j]))) == "tensor([0.+1.j])"
    finally:
        dt.set_default_dtype(dt.float32)


def test_printoptions_restores() -> None:
    before = printing.get_printoptions()
    with printing.printoptions(precision=2, sci_mode=True):
        assert printing.format_array(np.array([1.5])) == "[1.50e+00]"
    assert printing.get_printoptions() == before


def test_sci_mode_is_set_by_every_call() -> None:
    printing.set_printoptions(sci_mode=True)
    printing.set_printoptions(precision=3)
    assert printing.get_printoptions()["sci_mode"] is None


def test_only_the_corners_of_a_large_array_are_read() -> None:
    huge = np.broadcast_to(np.float32(1.0), (10**6, 10**6))
    assert printing.format_array(huge).count("1.") == 36


def test_the_text_without_what_a_program_put_in_the_place_of_repr() -> None:
    plain = rushlight.ones(1)
    assert printing._str(plain) == repr(plain)
    assert printing._str(plain, tensor_contents="...") == "tensor(...)"
    sparse = plain.to_sparse()
    assert printing._str(sparse) == printing._str_intern(sparse) == repr(sparse)
    assert printing._add_suffixes("tensor(1", ["a", "b"], 7, True) == "tensor(1,\n       a, b)"
