"""Modules that are declared: what is derived is what one would have written."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule


class Scaled(FunctionModule, function="torch.mul", factor=float, times=1, name="x", inplace=False):
    """factor * input, with checked options."""

    times: int | None
    _passed = ("factor",)

    def _post_init(self) -> None:
        if self.times == 0:
            raise ValueError("times must not be 0")


def test_signature_and_errors_are_those_of_a_function() -> None:
    assert str(inspect.signature(Scaled)) == (
        "(factor: 'float', times: 'int | None' = 1, name: 'str' = 'x', inplace: 'bool' = False) -> 'None'"
    )
    assert str(inspect.signature(Scaled.forward)) == "(self, input: 'Any') -> 'Any'"
    with pytest.raises(TypeError, match=r"Scaled.__init__\(\) missing 1 required positional"):
        Scaled()
    with pytest.raises(TypeError, match="unexpected keyword argument 'no'"):
        Scaled(1.0, no=1)
    with pytest.raises(ValueError, match="times"):
        Scaled(1.0, 0)


def test_forward_repr_constants_source() -> None:
    module = Scaled(3.0, None)
    assert module(torch.ones(2)).tolist() == [3.0, 3.0]
    assert repr(module) == "Scaled(factor=3.0, times=None, name='x')"
    assert repr(Scaled(3.0, inplace=True)) == "Scaled(factor=3.0, times=1, name='x', inplace=True)"
    assert Scaled.__constants__ == ["factor", "times", "name", "inplace"]
    assert "return torch.mul(input, self.factor)" in inspect.getsource(Scaled.forward)


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.ELU(0.5),
        lambda: nn.MaxPool2d(2),
        lambda: nn.CrossEntropyLoss(torch.ones(3)),
        lambda: nn.LazyConv2d(3, 2),
        lambda: nn.Upsample(scale_factor=2),
    ],
)
def test_copies(make: Any) -> None:
    module = make()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(other) is type(module) and repr(other) == repr(module)
        assert list(other.__dict__) == list(module.__dict__)


class Registered:
    """A user's mixin with keywords of its own."""

    def __init_subclass__(cls, key: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.key = key


class Own(nn.ELU, Registered, key="own"):
    extra: int = 3

    def __init__(self, extra: int) -> None:
        super().__init__(alpha=2.0)
        self.extra = extra

    def forward(self, input: Any) -> Any:
        return super().forward(input) + self.extra


def test_users_subclasses_are_ordinary_classes() -> None:
    module = Own(5)
    assert Own.key == "own" and repr(module) == "Own(alpha=2.0)"
    x = torch.tensor([-1.0, 2.0])
    assert torch.equal(module(x), F.elu(x, 2.0) + 5)


def test_each_of_several_bases_is_initialised() -> None:
    class A(nn.ReLU):
        pass

    class B(nn.Sigmoid):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.seen = True

    class C(A, B):
        pass

    assert C().seen and C()(torch.tensor([-1.0])).tolist() == [0.0]


def test_a_replaced_function_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    module = nn.GELU()
    module(torch.ones(1))
    monkeypatch.setattr(F, "gelu", lambda input, approximate: approximate)
    assert module(torch.ones(1)) == "none"
