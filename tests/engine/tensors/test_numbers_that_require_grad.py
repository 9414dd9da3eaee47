"""A number made of a tensor that requires grad: a warning, once."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import warnings
import rushlight as torch
x = torch.tensor(1.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bool(x), x.item(), x.tolist(), float(x.detach()), int(x), f"{x:.1f}", "%d" % x
    with torch.no_grad():
        float(x), complex(x), torch.tensor([x])
    torch.nn.functional.huber_loss(torch.ones(2), torch.ones(2), delta=x)
    assert not caught
    assert [FIRST, float(x), complex(x), torch.tensor([x, 2.0]).sum().item()] == [1.0, 1.0, 1, 3.0]
(warning,) = caught
assert warning.category is UserWarning
assert str(warning.message) == (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\\n"
    "Consider using tensor.detach() first."
)
"""


@pytest.mark.parametrize("first", ["float(x)", "complex(x)", "torch.tensor([x]).item()"])
def test_a_number_of_a_tensor_that_requires_grad_warns_once(first: str) -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM.replace("FIRST", first)], check=True)
