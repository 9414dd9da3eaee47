"""Layers are classes that one can read, inherit from, copy and pickle."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

_GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from nn_signatures import module_names, signatures  # noqa: E402 - lives beside its recorded output

_RECORDED = json.loads((_GOLDENS / "nn_signatures.json").read_text(encoding="utf-8"))
_MODULES = Path(nn.__file__).parent / "modules"


@pytest.mark.parametrize("name", module_names(nn))
def test_a_layer_can_be_opened(name: str) -> None:
    cls = getattr(nn, name)
    assert inspect.getsource(cls).startswith(f"class {name}(")
    assert cls.__doc__ and cls.__module__.startswith("rushlight.nn.modules.")
    for method in (cls.__init__, cls.forward, cls.extra_repr):
        file = Path(method.__code__.co_filename)
        assert file.is_relative_to(_MODULES), file
        lines = file.read_text(encoding="utf-8").splitlines()
        written = lines[method.__code__.co_firstlineno - 1]
        # The base class's forward stands for "there is none".
        assert f"def {method.__name__}(" in written
        assert "return" in method.__annotations__


@pytest.mark.parametrize("name", sorted(_RECORDED))
def test_signatures_are_pytorchs(name: str) -> None:
    # A base class of ours may have a forward where PyTorch's has none.
    ours, recorded = signatures(nn, name), _RECORDED[name]
    assert {what: ours[what] for what in recorded} == recorded


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (nn.Conv2d, r"Conv2d.__init__\(\) missing 3 required positional arguments"),
        (nn.BatchNorm1d, r"missing 1 required positional argument: 'num_features'"),
        (nn.MaxPool2d, r"missing 1 required positional argument: 'kernel_size'"),
        (
            nn.ReflectionPad1d,
            r"ReflectionPad1d.__init__\(\) missing 1 required positional argument: 'padding'",
        ),
        (nn.Linear, r"Linear.__init__\(\) missing 2 required positional arguments"),
    ],
)
def test_missing_arguments_are_named(cls: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        cls()
    with pytest.raises(TypeError, match="unexpected keyword argument 'no'"):
        nn.ReLU(no=1)


@pytest.mark.parametrize(
    ("layer", "base"),
    [
        (nn.Conv2d(1, 1, 1), "conv._ConvNd"),
        (nn.ConvTranspose2d(1, 1, 1), "conv._ConvTransposeNd"),
        (nn.BatchNorm2d(1), "batchnorm._BatchNorm"),
        (nn.SyncBatchNorm(1), "batchnorm._BatchNorm"),
        (nn.InstanceNorm1d(1), "batchnorm._NormBase"),
        (nn.Dropout2d(), "dropout._DropoutNd"),
        (nn.MaxPool1d(1), "pooling._MaxPoolNd"),
        (nn.AvgPool3d(1), "pooling._AvgPoolNd"),
        (nn.AdaptiveAvgPool2d(1), "pooling._AdaptiveAvgPoolNd"),
        (nn.ZeroPad2d(1), "padding._ConstantPadNd"),
        (nn.CrossEntropyLoss(), "loss._WeightedLoss"),
    ],
)
def test_families_have_pytorchs_bases(layer: nn.Module, base: str) -> None:
    file, name = base.split(".")
    assert isinstance(layer, getattr(getattr(nn.modules, file), name))


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


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_nothing_is_asked_of_an_uninitialized_parameter() -> None:
    layer = nn.LazyLinear(2)
    for asked in (
        lambda p: p.numel(),
        lambda p: p.dim(),
        lambda p: p.detach(),
        lambda p: p.requires_grad_(False),
        lambda p: p.zero_(),
        lambda p: p.tolist(),
    ):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            asked(layer.weight)
    assert layer.double().weight.dtype == torch.float64 and layer.weight.size() == (0,)
    layer(torch.ones(1, 3, dtype=torch.float64))
    assert layer.weight.numel() == 6


def test_a_part_that_is_no_tensor_takes_methods_over() -> None:
    class Part:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]

    class Made(Part, torch.Tensor):
        pass

    heard: list[str] = []
    torch.ones(2).as_subclass(Made).detach().numel()
    assert heard == ["detach", "numel"]


@pytest.mark.parametrize("file", ["loss", "linear", "conv", "rnn", "pooling", "normalization"])
def test_a_file_of_layers_gives_away_its_layers_alone(file: str) -> None:
    given: dict[str, Any] = {}
    exec(f"from rushlight.nn.modules.{file} import *", given)
    del given["__builtins__"]
    assert given and all(issubclass(value, nn.Module) for value in given.values())
