"""TorchScript: methods that convert to a dtype, and sizes of no dims."""

from __future__ import annotations

import io
from typing import List, Optional

import pytest

import rushlight as torch


@torch.jit.script
def converted(x: torch.Tensor):
    return x.float(), x.double(), x.half(), x.int(), x.long(), x.short(), x.char(), x.byte()


@torch.jit.script
def of_no_dims(x: torch.Tensor):
    return torch.zeros((), dtype=x.dtype) + torch.full((), 2.0) + x.new_ones(()) + x.view(())


def test_conversions() -> None:
    t = torch
    found = converted(torch.full((1,), 3.5, dtype=torch.float64))
    assert [y.dtype for y in found] == [
        t.float32,
        t.float64,
        t.float16,
        t.int32,
        t.int64,
        t.int16,
        t.int8,
        t.uint8,
    ]
    assert found[3].tolist() == [3]


def test_sizes_of_no_dims() -> None:
    assert of_no_dims(torch.ones(1)).item() == 4


@torch.jit.script
def multiplied(a, b, dtype: Optional[torch.dtype] = None):
    return (a @ b).to(dtype)


def test_a_dtype_that_may_be_none() -> None:
    x = torch.ones(2, 2)
    assert multiplied(x, x).dtype == torch.float32
    assert multiplied(x, x, torch.float64).dtype == torch.float64


@torch.jit.script
def differentiated(x: torch.Tensor, y: torch.Tensor):
    found = torch.autograd.grad([y], [x], create_graph=True)[0]
    if found is None:
        raise RuntimeError("y does not depend on x")
    torch.autograd.backward([y])
    return found


def test_gradients_inside() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    found = differentiated(x, (x**3).sum())
    assert found.tolist() == [3, 12] and found.requires_grad
    assert x.grad is not None and x.grad.tolist() == [3, 12]
    assert "torch.autograd.grad([y], [x], None, None, True)" in differentiated.code


class Switching(torch.nn.Module):
    def forward(self, x: torch.Tensor, shift: torch.Tensor = torch.full((2,), 3.0)):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        off = x * 2
        torch.set_grad_enabled(before)
        return off, x + shift


def test_tensors_as_defaults_and_switches_of_gradients() -> None:
    module = torch.jit.script(Switching())
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    x = torch.ones(2, requires_grad=True)
    for one in (module, torch.jit.load(file)):
        off, shifted = one(x)
        assert (off.requires_grad, shifted.requires_grad) == (False, True)
        assert shifted.tolist() == [4, 4] and one(x, torch.zeros(2))[1].tolist() == [1, 1]
        assert "shift: Tensor=CONSTANTS.c" in one.code


def test_a_bool_is_taken_where_a_number_is_expected():
    class Shifted(torch.nn.Module):
        def shifted(self, x: torch.Tensor, by: int = 0, times: float = 1.0, twice: bool = False):
            return (x + by) * times

        def forward(self, x: torch.Tensor, flag: bool = True):
            return self.shifted(x, flag, flag), True + 1, torch.add(x, flag)

    shifted, two, added = torch.jit.script(Shifted())(torch.ones(2))
    assert (shifted.tolist(), two, added.tolist()) == ([2.0, 2.0], 2, [2.0, 2.0])


def test_a_tuple_is_held_as_the_list_that_a_variable_was():
    def sized(x: torch.Tensor, size: Optional[List[int]], more: List[int]):
        if size is None:
            a = x.shape[0]
            size = a, a
        if x.dim() > 1:
            more = (3, 4)
        return x.new_ones(size), more

    scripted = torch.jit.script(sized)
    ones, more = scripted(torch.ones(2, 2), None, [1, 2])
    assert ones.shape == (2, 2) and more == [3, 4]
    assert scripted(torch.ones(3), [1, 2], [5])[1] == [5]

    def mixed(x: torch.Tensor, more: List[int]):
        if x.dim() > 1:
            more = (3.0, 4)
        return more

    with pytest.raises(RuntimeError, match=r"type List\[int\] but is now .* of type Tuple\[float, int\]"):
        torch.jit.script(mixed)
