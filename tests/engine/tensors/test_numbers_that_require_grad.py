"""A number made of a tensor that requires grad: a warning, once."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import warnings
import rushlight as torch
x = torch.tensor(1.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bool(x), x.item(), x.tolist(), float(x.detach())
    assert not caught
    assert [float(x), int(x * 1), complex(x)] == [1.0, 1, 1]
(warning,) = caught
assert warning.category is UserWarning
assert str(warning.message) == (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\\n"
    "Consider using tensor.detach() first."
)
"""


def test_a_number_of_a_tensor_that_requires_grad_warns_once() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True)
