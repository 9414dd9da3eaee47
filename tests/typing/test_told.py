"""What an interpreter's user is told: signatures, dir(), completion."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight._engine.core import dtype
from rushlight._engine.dispatch import dispatcher, methods
from rushlight._engine.names import completion as listing
from rushlight._engine.ops.table import NAMES
from rushlight._engine.tensors.construction import legacy
from rushlight._engine.tensors.storages import typed

F = torch.nn.functional


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (torch.einsum, "(equation, *operands)"),
        (torch.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (torch.relu, "(input, inplace=False)"),
        (torch.add, "(input, other, *, alpha=1, out=None)"),
        (torch.Tensor.add_, "(input, other, *, alpha=1)"),
        (torch.randn(2).add_, "(other, *, alpha=1)"),
        (torch.permute, "(input, *dims)"),
        (torch.Tensor.reshape, "(input, *shape)"),
        (
            torch.zeros,
            "(*size, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None)",
        ),
    ],
)
def test_signatures_are_told_as_they_are(function, told: str) -> None:
    assert str(inspect.signature(function)) == told


def test_every_op_tells_its_row_s_parameters() -> None:
    for (space, name), (row, _) in list(NAMES.items()):
        if space == "aten":
            continue
        shown = inspect.signature(dispatcher.bare(space, name))
        assert set(shown.parameters) - {"out", "inplace"} == {p.name for p in row.params} - {"out", "inplace"}
        assert not any(repr(p.default) == "<required>" for p in shown.parameters.values()), name


def test_a_signature_is_worked_out_at_the_first_look() -> None:
    function = dispatcher.function(NAMES["torch", "hypot"][0])
    told = function.__signature__ = dispatcher.signatures.of(NAMES["torch", "hypot"][0])
    with pytest.raises(AttributeError):
        object.__getattribute__(told, "_parameters")
    assert list(told.parameters) == ["input", "other", "out"]
    assert told.bind(1, 2).arguments == {"input": 1, "other": 2}
    assert pickle.loads(pickle.dumps(told)) == told


def test_dir_lists_what_has_no_row() -> None:
    """completion.tsv holds the names that other files make; this test says which are missing."""
    storages = {n for n in vars(typed) if n.endswith("Storage")} - {"TypedStorage", "UntypedStorage"}
    tensors = {n for n in vars(legacy) if n.endswith("Tensor") and n != "Tensor"}
    torch_names = {*methods.FUNCTIONS, *dtype.NAMED, *storages, *tensors}
    assert torch_names <= listing.names("torch")
    assert {*methods.METHODS, *dispatcher._SPARSE} - {"_follow_"} <= listing.names("Tensor")
    for space in ("torch", "Tensor", "linalg", "special", "fft", "nn.functional"):
        assert {n for where, n in NAMES if where == space} <= listing.names(space)


def test_dir_names_what_can_be_had() -> None:
    x = torch.randn(2)
    sparse = {n for n in dispatcher._SPARSE if not hasattr(x, n)}
    assert [
        n for n in dir(x) if n.isalpha() and n not in sparse | {"grad"} and not hasattr(torch.Tensor, n)
    ] == []
    assert {"relu", "einsum", "float32", "FloatTensor", "nn"} <= set(dir(torch))
    assert "conv2d" in dir(F)
    assert {"relu", "add_", "shape", "numpy"} <= set(dir(x))


def test_completion_of_packages_loads_nothing() -> None:
    program = """
import sys, rlcompleter
import rushlight as torch
words = rlcompleter.Completer({"torch": torch}).attr_matches("torch.")
assert "torch.einsum" in words and "torch.nn" in words, words
assert "numpy" not in sys.modules and "rushlight.nn" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_who_is_no_completer_is_told_what_is_there() -> None:
    # IPython's `torch.einsum?` looks whether the class has a property of that name.
    for parent, name in ((torch, "einsum"), (torch.nn, "Linear"), (torch.optim, "AdamW")):
        assert getattr(type(parent), name, None) is None
    assert not isinstance(torch.Tensor.heaviside, property)


def test_completion_of_a_tensor_loads_nothing() -> None:
    program = """
import sys, rlcompleter, time
import rushlight as torch
x = torch.randn(2)
loaded, start = set(sys.modules), time.process_time()
words = {word.partition("(")[0] for word in rlcompleter.Completer({"x": x, "torch": torch}).attr_matches("x.")}
took = time.process_time() - start
assert {"x.relu", "x.add_", "x.shape", "x.backward"} <= words, words
assert set(sys.modules) == loaded, set(sys.modules) - loaded
assert took < 0.05, took
words = rlcompleter.Completer({"torch": torch}).attr_matches("torch.Tensor.rel")
assert words == ["torch.Tensor.relu", "torch.Tensor.relu_"], words
assert x.relu().shape == (2,) and callable(torch.Tensor.relu_)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
