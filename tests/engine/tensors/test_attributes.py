"""Attributes of tensors: methods are bound at their first look-up, slots are found without `__getattr__`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rushlight as torch

CODE = """
import rushlight as torch
x = torch.ones(2, 2, requires_grad=True)
assert "__getattr__" not in vars(torch.Tensor)
x.exp().sum().backward()
torch.nn.functional.linear(x, x).view(4).T.detach()
assert "__getattr__" not in vars(torch.Tensor)
c = torch.ones(2, 2, dtype=torch.complex64)
y = c.conj()
assert y.imag.tolist() == [[0.0, 0.0], [0.0, 0.0]] and y.shape == (2, 2) and y.stride() == (2, 1)
assert "__getattr__" in vars(torch.Tensor)
"""


def test_slots_are_found_without_getattr_until_a_tensor_has_no_array():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_methods_are_bound_at_their_first_look_up():
    x = torch.ones(2)
    assert x.sin is not None and vars(torch.Tensor)["sin"].__qualname__ == "Tensor.sin"
    assert torch.Tensor.cos is vars(torch.Tensor)["cos"] is not torch.cos
    assert hasattr(x, "cosh") and not hasattr(x, "no_such_op")


def test_what_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'no_such_op'"):
        torch.ones(2).no_such_op
    with pytest.raises(AttributeError, match="type object 'Tensor' has no attribute 'no_such_op'"):
        torch.Tensor.no_such_op
