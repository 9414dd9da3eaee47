"""Parameters that are exchanged whole: torch.__future__.set_swap_module_params_on_conversion."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.__future__ import set_swap_module_params_on_conversion


@pytest.fixture(autouse=True)
def swapping():
    set_swap_module_params_on_conversion(True)
    yield
    set_swap_module_params_on_conversion(False)


def test_conversion_keeps_parameters_and_gradients():
    layer = nn.Linear(2, 3)
    layer(torch.ones(1, 2)).sum().backward()
    weight, grad = layer.weight, layer.weight.grad
    layer.double()
    assert layer.weight is weight and weight.grad is grad and weight.requires_grad
    assert weight.dtype is grad.dtype is torch.float64 and isinstance(weight, nn.Parameter)
    away = nn.Linear(2, 2, device="meta")
    weight = away.weight
    assert away.to_empty(device="cpu").weight is weight and not weight.is_meta


def test_loading_asks_module_load():
    layer = nn.Linear(2, 2).double()
    weight, ones = layer.weight, {name: torch.ones_like(t).float() for name, t in layer.state_dict().items()}
    layer.load_state_dict(ones)
    assert layer.weight is weight and weight.dtype is torch.float64 and weight.eq(1).all()
    layer.load_state_dict(ones, assign=True)
    assert layer.weight is weight and weight.dtype is torch.float32 and weight.requires_grad


class Seven(torch.Tensor):
    """Loads as sevens, as an ordinary tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.module_load:
            return torch.full(args[1].shape, 7.0)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_class_says_how_it_is_loaded():
    layer = nn.Linear(2, 2, bias=False)
    layer.weight = nn.Parameter(torch.zeros(2, 2).as_subclass(Seven))
    layer.load_state_dict({"weight": torch.ones(2, 2)})
    assert type(layer.weight) is nn.Parameter and layer.weight.eq(7).all()


def test_neither_may_be_answered(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "module_load", lambda self, other, assign=False: other)
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="While swapping the parameter.*module_load returned one of"):
        layer.load_state_dict(nn.Linear(2, 2).state_dict())


def test_buffers_that_are_views_of_a_class_are_exchanged_and_stay_known():
    class Named(torch.Tensor):
        pass

    def module():
        made = nn.Linear(2, 3, bias=False)
        made.register_buffer("kept", Named(torch.randn(2, 3)))
        return made

    first, second = module(), module()
    first.load_state_dict(second.state_dict())
    assert torch.equal(first.kept, second.kept)
    whole = torch.zeros(4)
    a, b = whole[:2], torch.ones(2)
    torch.utils.swap_tensors(a, b)
    whole.add_(torch.ones(4, requires_grad=True))
    assert b.requires_grad and not a.requires_grad


def test_what_a_tensor_is_made_of_is_exchanged() -> None:
    a: Any = torch.ones(2)
    b: Any = torch.zeros(2)
    first, second = a._cdata, b._cdata
    a.data = torch.ones(3)
    assert a._cdata == first != second
    torch.utils.swap_tensors(a, b)
    assert (a._cdata, b._cdata) == (second, first)


def test_copies_are_made_of_something_of_their_own() -> None:
    for a in (torch.ones(2), nn.Parameter(torch.ones(2))):
        number = a._cdata
        file = io.BytesIO()
        torch.save(a, file)
        file.seek(0)
        copies = [copy.deepcopy(a), copy.copy(a), pickle.loads(pickle.dumps(a)), torch.load(file)]
        assert [c.__dict__ for c in copies] == [{}] * 4
        assert len({number, *[c._cdata for c in copies]}) == 5


def test_attributes_go_over_as_the_dictionary_that_holds_them():
    a, b = torch.rand(2), torch.rand(3, 3)
    b.note = "of b"
    held = a.__dict__, b.__dict__
    torch.utils.swap_tensors(a, b)
    assert (b.__dict__, a.__dict__) == held and a.__dict__ is held[1] and a.note == "of b"
