"""Public names of rows are functions of their own, by which handlers of __torch_function__ know them."""

import pickle
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight.overrides import TorchFunctionMode, is_tensor_method_or_property, resolve_name


class Noted(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((resolve_name(func), len(args), sorted(kwargs or {})))
        return func(*args, **(kwargs or {}))


SEEN = []


class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        SEEN.append((resolve_name(func), len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)


# As PyTorch 2.13 has them.
CALLS = {
    "x + y": ("torch.Tensor.add", 2, []),
    "x // y": ("torch.Tensor.__floordiv__", 2, []),
    "x ** y": ("torch.Tensor.__pow__", 2, []),
    "x & y": ("torch.Tensor.__and__", 2, []),
    "x == y": ("torch.Tensor.__eq__", 2, []),
    "x != y": ("torch.Tensor.ne", 2, []),
    "2 - x": ("torch.Tensor.__rsub__", 2, []),
    "2 * x": ("torch.Tensor.mul", 2, []),
    "2 & x": ("torch.Tensor.bitwise_and", 2, []),
    "~x": ("torch.Tensor.__invert__", 1, []),
    "-x": ("torch.Tensor.neg", 1, []),
    "x.abs()": ("torch.Tensor.abs", 1, []),
    "torch.abs(x)": ("torch.abs", 1, []),
    "x.arctan()": ("torch.Tensor.arctan", 1, []),
    "torch.arctan(x)": ("torch.arctan", 1, []),
    "x.add_(y)": ("torch.Tensor.add_", 2, []),
    "x.__iand__(y)": ("torch.Tensor.__iand__", 2, []),
    "x.view(4)": ("torch.Tensor.view", 2, []),
    "x.split(1)": ("torch.Tensor.split", 2, ["dim"]),
    "torch.split(x, 1)": ("torch.functional.split", 2, ["dim"]),
    "torch.special.erf(x)": ("torch.special.erf", 1, []),
    "torch.linalg.matmul(x, y)": ("torch.linalg.matmul", 2, []),
    "torch.nn.functional.relu(x)": ("torch.nn.functional.relu", 1, ["inplace"]),
    "torch.nn.functional.one_hot(x)": ("torch.nn.functional.one_hot", 1, []),
}


@pytest.mark.parametrize("text", CALLS)
def test_what_handlers_are_told(text):
    x = torch.tensor([[1, 2], [3, 4]])
    with Noted() as noted:
        wanted = eval(text, {"torch": torch, "x": x.clone(), "y": x.clone()})
    assert [told for told in noted.seen if told[0] != "torch.Tensor.clone"] == [CALLS[text]]
    one, other = x.clone().as_subclass(Sub), x.clone().as_subclass(Sub)
    SEEN.clear()
    found = eval(text, {"torch": torch, "x": one, "y": other})
    assert SEEN[0] == CALLS[text]
    pairs = (found, wanted) if isinstance(found, tuple) else ((found,), (wanted,))
    for one, other in zip(*pairs, strict=True):
        assert type(one) is Sub and one.as_subclass(torch.Tensor).equal(other)


FUNCTIONS = [
    torch.abs,
    torch.Tensor.abs,
    torch.Tensor.__floordiv__,
    torch.linalg.det,
    torch.fft.fft,
    torch.split,
    torch.special.erf,
    torch.nn.functional.gelu,
    torch.nn.functional.relu,
    torch.Tensor.add_,
    torch.nn.functional.threshold_,
    torch.linalg.vander,
]


def test_each_name_is_a_function():
    assert len(set(FUNCTIONS)) == len(FUNCTIONS)
    assert torch.Tensor.abs is not torch.abs and torch.Tensor.abs.__name__ == "abs"
    assert torch.nn.functional.conv2d is torch.conv2d and torch._C._nn.gelu is torch.nn.functional.gelu
    assert torch.nn.functional.relu is not torch.relu
    assert torch.linalg.det.__name__ == "linalg_det" and torch.linalg.det.__module__.endswith("._C._linalg")
    assert is_tensor_method_or_property(torch.Tensor.abs) and not is_tensor_method_or_property(torch.abs)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pickled_by_name(function):
    assert pickle.loads(pickle.dumps(function)) is function


class Silent(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class SilentMode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


def test_where_nobody_answers():
    x = torch.ones(2)
    s = x.as_subclass(Silent)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.Tensor.abs'[\s\S]*Silent"):
        s.abs()
    with pytest.raises(TypeError, match=r"no implementation found for 'torch.nn.functional.relu' on types"):
        torch.nn.functional.relu(s)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        s + s
    assert s.__iadd__(s) is NotImplemented
    with SilentMode(), pytest.raises(TypeError, match="mode object"):
        torch.neg(x)


def test_a_mode_that_does_not_answer_leaves_it_to_the_classes():
    t = torch.ones(2).as_subclass(Sub)
    with SilentMode(), pytest.raises(TypeError, match="mode object"):
        torch.neg(t)  # the class's own call comes to the mode again

    class Answering(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    t = torch.ones(2).as_subclass(Answering)
    with SilentMode():
        assert torch.neg(t) == "neg"


def test_modes_are_methods():
    class Wrong(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **kwargs)

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Wrong():
        pass
    with pytest.raises(TypeError, match="expected a sequence"):
        torch.overrides.has_torch_function(object())


def test_the_modes_that_are_active():
    from rushlight.overrides import _get_current_function_mode, _get_current_function_mode_stack

    assert _get_current_function_mode() is None
    with Noted() as outer, Noted() as inner:
        assert _get_current_function_mode_stack() == [outer, inner]
        assert _get_current_function_mode() is inner


def test_normalize_is_taken_over():
    with Noted() as noted:
        torch.nn.functional.normalize(torch.ones(1, 2))
    assert ("torch.nn.functional.normalize", 1, ["dim", "eps", "out", "p"]) in noted.seen


class TestNamesOfPrograms:
    class Tensor:
        """A class that has the name of ours, and methods of the names of ours."""

        def add(self, x, y):
            return torch.add(x, other=y, alpha=1)

    def test_a_function_of_a_program_is_no_function_of_ours(self):
        assert callable(torch.Tensor.add)
        self.Tensor.add.__code__ = self.Tensor.add.__code__.replace(co_qualname="Tensor.add")
        x = torch.ones(2)
        with Noted() as noted:
            self.Tensor().add(x, x)
        assert noted.seen == [("torch.add", 1, ["alpha", "other"])]


def test_one_function_for_each_name_though_threads_make_several():
    names = ["sinh", "cosh", "erf", "lgamma", "rsqrt", "logsumexp", "__mod__", "__rpow__", "__xor__"]
    code = f"""
import sys, threading
import rushlight as torch
from rushlight._engine.dispatch import spellings
sys.setswitchinterval(1e-6)
for name in {names!r}:
    found, start = [], threading.Barrier(4)
    def look_up():
        start.wait()
        found.append(getattr(torch.Tensor, name))
    threads = [threading.Thread(target=look_up) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert set(found) == {{getattr(torch.Tensor, name)}}, name
    told = spellings._SPELLINGS.get("Tensor." + name)
    assert told is None or told.function is found[0], name
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class Wrong(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise TypeError("no")


def test_mistakes_of_handlers_in_operators():
    x = torch.ones(2)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for /"):
        x.as_subclass(Wrong) / x
    with pytest.raises(TypeError, match="^no$"):
        ~x.as_subclass(Wrong)
    with Noted() as noted, pytest.raises(TypeError, match="only implemented on integer"):
        ~x
    assert noted.seen == [("torch.Tensor.__invert__", 1, [])]
    with pytest.raises(TypeError, match="only implemented on integer"):
        ~x.as_subclass(Sub)
