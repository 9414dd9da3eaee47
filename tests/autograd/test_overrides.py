"""torch.overrides: modes, classes, and functions of one's own that let classes take over."""
import pytest

import rushlight as torch
from rushlight import overrides
from rushlight.dispatch.state import MODES, STACK


class Noted(overrides.TorchFunctionMode):
    def __init__(self):
        self.names, self.types = [], []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        self.types.append(types)
        return func(*args, **(kwargs or {}))


class Said(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types


def test_a_mode_sees_functions_methods_and_operators():
    with Noted() as mode:
        x = torch.ones(2, 2)
        y = torch.nn.functional.relu(torch.add(x, x)).mul(3)
        y.add_(1)
        total = (x @ y).sum()
    assert mode.names == ["ones", "add", "relu", "mul", "add_", "matmul", "sum"] and total.item() == 56
    assert set(mode.types) == {()} and not MODES and not STACK.modes


def test_modes_lie_in_each_other_and_may_change_results():
    class Negated(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            return -found if func is torch.add else found
    with Noted() as outer, Negated(), overrides.BaseTorchFunctionMode():
        assert torch.add(torch.ones(1), 1).item() == -2
    assert outer.names == ["ones", "add", "neg"]
    with pytest.raises(RuntimeError, match="inconsistent tensor size"), Noted():
        torch.ones(2) @ torch.ones(3)
    assert not MODES and not STACK.modes


def test_gradients_go_through():
    x = torch.ones(3, requires_grad=True)
    with Noted():
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_own_functions_ask_classes():
    def double(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2
    said = torch.ones(2).as_subclass(Said)
    assert double(said) == ("double", (Said,)) and double(torch.ones(1)).item() == 2
    assert overrides.has_torch_function_unary(said) and not overrides.has_torch_function_variadic(1, torch.ones(1))
    assert overrides.is_tensor_like(said) and not overrides.is_tensor_like(3)
    with Noted():
        assert overrides.has_torch_function(())

    class Silent(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented
    with pytest.raises(TypeError, match="no implementation found for 'torch.double'.*Silent"):
        double(torch.ones(1).as_subclass(Silent))


def test_saved_tensors_may_be_written_to():
    x = torch.full((3,), 2.0, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y ** 2).sum()
        with torch.no_grad():
            y.zero_()
        z.backward()
    assert x.grad.tolist() == [4, 4, 4]
