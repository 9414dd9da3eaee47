"""Errors end at the user's line, warnings name it; a mistake of ours is told in full."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core import callers, tracebacks
from rushlight._engine.core.settings import settings
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, Dataset

ROOT = Path(torch.__file__).parent


class Bad(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise KeyError("mine")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)

    def forward(self, x):
        return self.inner(x)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return grad.view(17)


CASES = {
    "operator": lambda: torch.zeros(2) + torch.zeros(3),
    "reflected": lambda: [] - torch.zeros(3),
    "method": lambda: torch.zeros(2).view(3),
    "index": lambda: torch.zeros(2)[5],
    "function": lambda: F.cross_entropy(torch.ones(2, 3), torch.ones(4).long()),
    "property": lambda: torch.zeros(2, 2, requires_grad=True).real.numpy(),
    "constructor": lambda: nn.Linear(-1, 2),
    "optimizer": lambda: torch.optim.Adam([torch.zeros(2)], lr=-1),
    "backward": lambda: torch.ones(2, requires_grad=True).backward(),
    "load": lambda: torch.load("/nonexistent"),
    "state": lambda: Net().load_state_dict({}),
    "distribution": lambda: torch.distributions.Normal(0, -1),
    "a closure that was returned": lambda: torch.func.vmap(torch.ones_like)(3),
    "attribute": lambda: torch.nothing,
    "attribute of a package": lambda: torch.optim.nothing,
    "attribute of a tensor": lambda: torch.ones(2).nothing,
    "container": lambda: nn.ModuleDict()["a"],
    "rnn": lambda: nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2), [3, 4]),
}
# The user's functions that the error has passed, after the lambda.
WITHIN = {
    "module": (lambda: Net()(torch.ones(5)), ["forward"]),
    "dataset": (lambda: list(DataLoader(Bad())), ["__getitem__"]),
    "autograd function": (
        lambda: Twice.apply(torch.ones(2, requires_grad=True)).sum().backward(),
        ["backward"],
    ),
    "compiled": (lambda: torch.compile(Net())(torch.ones(5)), ["forward"]),
}


def names(call):
    with pytest.raises(Exception) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:], caught.value


@pytest.mark.parametrize("call", CASES.values(), ids=CASES)
def test_an_error_ends_at_the_users_line(call):
    found, error = names(call)
    assert found == ["<lambda>"]
    assert error.__context__ is None or error.__suppress_context__


def test_what_the_engine_tried_before_is_not_told():
    # A result that is of another dtype than the kernel's is computed by NumPy, by an expression's own code.
    with pytest.raises(RuntimeError):
        torch.add(torch.ones(2, 3), torch.ones(2, 3), out=torch.empty(2, 3, dtype=torch.int64))
    found, error = names(CASES["operator"])
    assert found == ["<lambda>"] and error.__context__ is None


@pytest.mark.parametrize("case", WITHIN)
def test_users_frames_stay(case):
    call, own = WITHIN[case]
    assert names(call)[0] == ["<lambda>", *own]


def test_the_full_traceback_is_kept_where_it_is_asked_for():
    with settings.using(traceback="full"):
        assert len(names(CASES["operator"])[0]) > 3


def test_a_mistake_of_ours_is_told_in_full():
    found, error = names(lambda: F.sigmoid(3))
    assert found == ["<lambda>", "sigmoid"] and isinstance(error, AttributeError)


def test_what_the_user_was_handling_is_still_told():
    def both():
        try:
            raise LookupError("users")
        except LookupError:
            torch.zeros(2).view(3)

    assert isinstance(names(both)[1].__context__, LookupError)


def test_functions_stay_what_they_are():
    def example(x, *rest, key=3, **more):
        """Told."""
        for value in [x, *rest]:
            try:
                yielded = [v for v in (value, key)]
                if value < 0:
                    raise ValueError(value)
            finally:
                more["last"] = yielded
        return more

    before = example.__code__
    changed = type(example)(tracebacks.handled(before), globals(), "example", None, example.__closure__)
    changed.__kwdefaults__ = {"key": 3}
    assert changed(1, 2, z=4) == example(1, 2, z=4) == {"z": 4, "last": [2, 3]}
    assert tracebacks.handled(changed.__code__) is changed.__code__
    assert (changed.__code__.co_name, changed.__code__.co_firstlineno) == ("example", before.co_firstlineno)
    with pytest.raises(ValueError) as caught:
        changed(1, -1)
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][-1] == "example"  # not ours


def test_scripts_and_workers(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(
        "import torch\nfrom torch.utils.data import DataLoader\n\n\nclass Bad(torch.utils.data.Dataset):\n"
        "    def __len__(self):\n        return 2\n\n    def __getitem__(self, i):\n"
        "        return torch.zeros(2) + torch.zeros(3)\n\n\n"
        "if __name__ == '__main__':\n    list(DataLoader(Bad(), num_workers=1))\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", str(program)], capture_output=True, text=True, timeout=100
    )
    assert found.stderr.count("Traceback") == 2 and "must match the size" in found.stderr
    ours = re.findall(r'File "([^"]*)", line', found.stderr)
    assert [path for path in ours if path.startswith("<rushlight")] == []
    assert {Path(path).name for path in ours if path.startswith(str(ROOT))} <= {"worker.py", "fetch.py"}


@pytest.fixture
def warns_always():
    """Warnings that PyTorch gives once in a process come, whatever has run before."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.usefixtures("warns_always")
def test_warnings_name_the_users_line():
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        scheduler.step()
        F.softmax(torch.ones(2, 2))
        torch.ones(2, 2, 2).T
        torch.meshgrid(torch.ones(2), torch.ones(2))
        F.mse_loss(torch.ones(2, 1), torch.ones(2, 2))
    assert len(told) == 5
    assert {w.filename for w in told} == {__file__}


def test_every_warning_is_given_by_the_one_helper():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ROOT.rglob("*.py")
        if path.name != "callers.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\bwarnings\.warn(_explicit)?\(", line)
    ]
    assert found == []
    assert callers.caller().f_code.co_name == "test_every_warning_is_given_by_the_one_helper"
