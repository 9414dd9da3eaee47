"""Functions that PyTorch has in compiled code are built-in functions: they do not bind, and pickle by name."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.names.built_in import plain

F = nn.functional
COMPILED = {
    "tanh": torch.tanh,
    "relu_": torch.relu_,
    "rand": torch.rand,
    "linear": F.linear,
    "softplus": F.softplus,
    "conv2d": F.conv2d,
    "inv": torch.linalg.inv,
    "fft": torch.fft.fft,
    "erf": torch.special.erf,
    "foreach": torch._foreach_add,
    "detach": torch.detach,
    "tensor": torch.tensor,
    "from_numpy": torch.from_numpy,
    "numel": torch.numel,
    "promote_types": torch.promote_types,
}
IN_PYTHON = {"relu": F.relu, "einsum": torch.einsum, "is_tensor": torch.is_tensor, "method": torch.Tensor.add}


@pytest.mark.parametrize("name", COMPILED)
def test_it_is_built_in(name: str) -> None:
    function: Any = COMPILED[name]
    assert type(function) is BuiltinFunctionType and inspect.isbuiltin(function)
    assert not inspect.ismethod(function) and not hasattr(function, "__get__")
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy([function])[0] is function
    with pytest.raises(AttributeError):
        function.note = 1


@pytest.mark.parametrize("name", IN_PYTHON)
def test_it_is_a_function(name: str) -> None:
    assert inspect.isfunction(IN_PYTHON[name])


@pytest.mark.parametrize("base", [object, nn.Module])
def test_it_does_not_bind(base: type) -> None:
    class Holder(base):  # type: ignore[misc]
        act, lin, bound = torch.tanh, F.linear, F.relu

    x = torch.ones(2, 2)
    assert torch.equal(Holder().act(x), x.tanh())
    assert torch.equal(Holder().lin(x, weight=x), x @ x)
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        Holder().bound(x)


def test_members_of_an_enum() -> None:
    class Act(Enum):
        TANH = torch.tanh
        EXP = torch.exp

    assert [a.value for a in Act] == [torch.tanh, torch.exp]


def test_what_it_tells_of_itself() -> None:
    assert str(inspect.signature(torch.addmm)) == "(input, mat1, mat2, *, beta=1, alpha=1, out=None)"
    assert torch.addmm.__doc__ == plain(torch.addmm).__doc__
    assert (torch.addmm.__name__, torch.addmm.__module__) == ("addmm", "rushlight")
    assert F.linear.__module__ == "rushlight._C._nn"
    with pytest.raises(ValueError, match="no signature"):  # a default that is a dtype
        inspect.signature(torch.tril_indices)


def test_files_name_it_as_pytorch_does() -> None:
    file = io.BytesIO()
    torch.save([torch.tanh, F.linear, len], file)
    assert b"ctorch\ntanh\n" in file.getvalue() and b"ctorch._C._nn\nlinear\n" in file.getvalue()
    file.seek(0)
    assert torch.load(file, weights_only=False) == [torch.tanh, F.linear, len]


def test_handlers_hear_of_it() -> None:
    heard = []

    class Heard(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Proxy:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)

    x = torch.ones(2).as_subclass(Heard)
    torch.add(x, x, alpha=2)
    x.add(1)
    F.linear(x, x)
    torch.numel(Proxy())  # type: ignore[arg-type]
    assert heard == [torch.add, torch.Tensor.add, F.linear, torch.numel]


def test_compiled_and_recorded_calls_see_what_is_behind_it() -> None:
    compiled = torch.compile(lambda x: torch.add(torch.tanh(x), 1), mode="reduce-overhead")
    for number in range(5):
        x = torch.full((3,), float(number))
        assert torch.equal(compiled(x), x.tanh() + 1)
    assert "replayed" in str(torch.explain(compiled))


def test_errors_end_at_the_callers_line() -> None:
    for call in (lambda: torch._foreach_add([], 1), lambda: torch.tensor(object()), lambda: torch.tanh("x")):
        with pytest.raises((RuntimeError, TypeError)) as info:
            call()
        assert info.traceback[-1].path == Path(__file__)


def test_functions_with_kernels_arguments_are_their_own() -> None:
    heard = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Told)
    torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    torch.threshold(x, 1, 2)
    torch.nn.functional.threshold(x, 1, 2)
    assert heard == [torch.batch_norm, torch.threshold, torch.nn.functional.threshold]
    assert torch.threshold != torch.nn.functional.threshold
    assert torch.overrides.resolve_name(torch.batch_norm) == "torch.batch_norm"
    assert torch.batch_norm.__name__ == "batch_norm" and type(torch.batch_norm) is BuiltinFunctionType
    with pytest.raises(
        TypeError, match=r'^instance_norm\(\) missing 2 required positional argument: "eps", "cu'
    ):
        torch.instance_norm(torch.ones(2, 3), None, None, None, None, True, 0.1)
    with pytest.raises(TypeError, match=r'^threshold\(\) missing 1 required positional arguments: "input"$'):
        torch.threshold(threshold=1, value=2)
