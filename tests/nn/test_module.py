"""Laws of nn.Module that are ours, or that a recorded answer cannot show."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import modules


def _values(module: Any) -> dict[str, Any]:
    return {name: t.detach().numpy().copy() for name, t in module.state_dict().items()}


def _net() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))


@pytest.mark.parametrize(
    ("change", "strict"),
    [
        ({"2.bias": torch.zeros(7)}, True),
        ({"2.bias": torch.zeros(7)}, False),
        ({"extra": torch.zeros(1)}, True),
        ({"2.bias": 3}, True),
    ],
)
@pytest.mark.parametrize("assign", [False, True])
def test_a_failed_load_leaves_the_module_as_it_was(change: Any, strict: bool, assign: bool) -> None:
    net = _net()
    before, weight = _values(net), net[0].weight
    other = {k: torch.full_like(v, 9) for k, v in _net().state_dict().items()}
    with pytest.raises(RuntimeError, match="Error.s. in loading state_dict for Sequential"):
        net.load_state_dict({**other, **change}, strict=strict, assign=assign)
    assert net[0].weight is weight
    for name, value in _values(net).items():
        np.testing.assert_array_equal(value, before[name])


def test_a_failed_load_in_an_overridden_loader_is_undone() -> None:
    class Refusing(nn.Linear):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            super()._load_from_state_dict(state_dict, prefix, *rest)
            rest[-1].append("refused")

    net = nn.Sequential(nn.Linear(2, 2), Refusing(2, 2))
    before = _values(net)
    state = {k: torch.zeros_like(v) for k, v in net.state_dict().items()}
    del state["1.bias"]  # not a sure success: the tensors are kept until it is one
    with pytest.raises(RuntimeError, match="refused"):
        net.load_state_dict(state)
    for name, value in _values(net).items():
        np.testing.assert_array_equal(value, before[name])


def test_a_module_dies_with_its_last_reference() -> None:
    gc.disable()
    try:
        net = _net()
        net(torch.randn(4, 2)).sum().backward()
        net.register_forward_hook(lambda *a: None)
        net.load_state_dict(net.state_dict())
        gone = weakref.ref(net[0])
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_every_public_class_is_published() -> None:
    for file in {*modules.HOMES.values()} - {"."}:
        home = getattr(modules, file)
        own = {
            name
            for name, value in vars(home).items()
            if inspect.isclass(value)
            and value.__module__ == home.__name__
            and not name.startswith("_")
            and issubclass(value, nn.Module)
        }
        listed = {name for name, where in modules.HOMES.items() if where == file}
        assert own - {"NonDynamicallyQuantizableLinear"} <= set(modules.HOMES), file
        for name in listed:
            assert getattr(home, name) is getattr(nn, name)


def test_names_of_pytorchs_files_lead_to_the_classes() -> None:
    from rushlight.nn.modules.activation import MultiheadAttention
    from rushlight.nn.modules.batchnorm import _BatchNorm
    from rushlight.nn.modules.container import ParameterList
    from rushlight.nn.modules.rnn import LSTMCell

    assert (MultiheadAttention, ParameterList, LSTMCell) == (
        nn.MultiheadAttention,
        nn.ParameterList,
        nn.LSTMCell,
    )
    assert issubclass(nn.BatchNorm2d, _BatchNorm)


def test_a_replaced_weight_is_the_one_that_is_used() -> None:
    layer = nn.Linear(2, 2, bias=False)
    x = torch.ones(2)
    layer._parameters["weight"] = nn.Parameter(torch.eye(2))
    np.testing.assert_array_equal(layer(x).detach().numpy(), [1, 1])
    del layer._parameters["weight"]
    layer.weight = torch.eye(2) * 3  # an attribute, as a hook or a pruning leaves it
    np.testing.assert_array_equal(layer(x).numpy(), [3, 3])


def test_changing_the_hook_tables_by_hand_works() -> None:
    layer, seen = nn.Identity(), []
    layer._forward_hooks[99] = lambda *a: seen.append(a[0])
    layer(1)
    layer._forward_hooks.clear()
    layer(1)
    assert seen == [layer]


def test_compile_replaces_the_call() -> None:
    layer = nn.Identity()
    layer._compiled_call_impl = lambda x: x + 1
    assert layer(1) == 2
    assert "_compiled_call_impl" not in layer.__getstate__()


def test_deep_nesting_prints_and_walks() -> None:
    net: Any = nn.Identity()
    for _ in range(60):
        net = nn.Sequential(net)
    assert repr(net).count("(0)") == 60
    assert len(list(net.modules())) == 61


def test_buffers_that_are_no_tensors_and_subclasses_that_know_no_persistence():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    class Own(torch.nn.Linear):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    module, like = torch.nn.Module(), Like()
    module.register_buffer("like", like)
    assert module.like is like and module.get_buffer("like") is like
    own = Own(2, 2)
    own.kept = torch.nn.Buffer(torch.ones(2))
    assert own.kept.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="non-persistent buffer on a Module subclass"):
        own.other = torch.nn.Buffer(torch.ones(2), persistent=False)
    module.plain = 5
    with pytest.raises(KeyError, match="already exists"):
        module.plain = torch.nn.Buffer(torch.ones(2))


def test_parameters_of_another_layout_are_replaced():
    linear = torch.nn.Linear(2, 2)
    before = linear.weight
    linear._apply(lambda t: t.to_sparse() if t.dim() == 2 else t)
    assert linear.weight is not before and linear.weight.is_sparse


def test_an_op_that_a_class_holds_is_no_method() -> None:
    class Held(nn.Module):
        conv, act, join, zeros, act_ = torch.conv2d, torch.relu, torch.concat, torch.zeros, torch.relu_
        tensor, inverse = torch.tensor, torch.linalg.inv

        def forward(self, x: Any) -> Any:
            return self.act(self.conv(x, self.zeros(1, 1, 2, 2) - 1, None, 1))

    held, x = Held(), -torch.ones(1, 1, 3, 3)
    assert held(x).tolist() == [[[[4.0, 4.0], [4.0, 4.0]]]]
    assert held.join([x, x], dim=1).shape == (1, 2, 3, 3)
    assert held.inverse(held.tensor([[2.0]])).item() == 0.5
    assert Held.conv is torch.conv2d


def test_another_name_of_a_function_is_a_function_of_that_name() -> None:
    import pickle

    for name, first in (
        ("arctan", "atan"),
        ("concat", "cat"),
        ("clip_", "clamp_"),
        ("swapaxes", "transpose"),
    ):
        function = getattr(torch, name)
        assert function.__name__ == name and function is not getattr(torch, first)
        assert getattr(torch, name) is function and pickle.loads(pickle.dumps(function)) is function
        assert inspect.signature(function) == inspect.signature(getattr(torch, first))

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, kwargs

    told = torch.ones(2).as_subclass(Told)
    assert torch.arctan(told)[0] is torch.arctan
    assert torch.atan(told)[0] is torch.atan
    assert torch.concat([told], dim=0) == (torch.concat, {"dim": 0})


def test_what_comes_of_a_parameter_of_ones_own_class_is_a_tensor() -> None:
    class Weight(nn.Parameter):
        pass

    w = Weight(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert Weight.__torch_function__ is torch._C._disabled_torch_function_impl
    made = [
        w * 2,
        w.t(),
        w[0],
        w.clone(),
        w.new_empty(3),
        w.to(torch.float64),
        w.view(-1),
        torch.empty_like(w),
    ]
    made += [torch.stack([w, w]), w.sum(), w.max(1).values, nn.functional.softmax(w, -1), *w.unbind(), w == w]
    assert {type(t) for t in made} == {torch.Tensor}
    assert type(w.requires_grad_()) is Weight and not torch.overrides.has_torch_function((w,))
    assert type(nn.Parameter(w.new_empty(2))) is nn.Parameter
    layer = nn.Linear(2, 2, bias=False)
    layer.weight = w
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.double().weight is w and type(w.grad) is torch.Tensor
    assert repr(w).startswith("Parameter containing:\nParameter(Weight([[1., 2.],")
