"""Functions that programs give for PyTorch's own ops: Library("aten", "IMPL").impl."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

import rushlight as torch
from rushlight._engine.dispatch import interpreters
from rushlight.library import Library, get_kernel
from rushlight.utils._python_dispatch import TorchDispatchMode, _len_torch_dispatch_stack


@pytest.fixture
def aten() -> Iterator[Library]:
    lib = Library("aten", "IMPL")
    yield lib
    lib._destroy()


def test_below_autograd(aten):
    heard = []

    def mm(a, b):
        heard.append(a.requires_grad)
        return torch.zeros(a.shape[0], b.shape[1])

    aten.impl("mm", mm, "CPU")
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2)
    product = x @ y
    assert product.grad_fn.name() == "MmBackward0" and not product.any()
    product.sum().backward()  # the gradient's product, too
    assert not x.grad.any() and heard == [True, False]
    assert not torch.nn.functional.linear(x, y.T).any() and not torch.vmap(lambda a: a @ y)(x[None]).any()
    assert not torch.compile(lambda a: a @ y)(x.detach()).any()
    found = []
    thread = threading.Thread(target=lambda: found.append((x.detach() @ y).sum().item()))
    thread.start()
    thread.join()
    assert found == [0]
    aten._destroy()
    assert (x @ y).sum() == 12


def test_arguments_and_writes(aten):
    heard = []
    for name in ("add.Tensor", "add_.Tensor", "sum"):
        aten.impl(name, lambda self, *args, **kwargs: (heard.append((args, kwargs)), self)[1], "CPU")
    y = torch.zeros(2)
    assert y.add(2, alpha=2) is not None and y.sum().shape == (2,)
    y += 1
    y.add_(2, alpha=3)
    assert heard == [((2,), {"alpha": 2}), ((), {}), ((1,), {}), ((2,), {"alpha": 3})] and not y.any()
    aten.impl("sum", lambda self: 3, "CPU")
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        y.sum()


def test_above_autograd_and_on_meta(aten):
    aten.impl("neg", lambda self: self * 3, "AutogradCPU")
    aten.impl("sum", lambda self: torch.empty(5, device="meta"), "Meta")
    x = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad((-x).sum(), x)
    assert grad.tolist() == [3, 3] and (-x).grad_fn.name() == "MulBackward0"
    with torch._C._AutoDispatchBelowAutograd():
        assert (-x).tolist() == [-1, -1]
    assert torch.ones(2, device="meta").sum().shape == (5,) and torch.ones(2).sum() == 2


def test_keys_and_what_was_there_before(aten):
    def neg(keys, self):
        assert repr(keys) == "DispatchKeySet(CPU, AutogradCPU)"
        return torch.ops.aten.neg.default.redispatch(keys & torch._C._after_autograd_keyset, self) * 2

    before = get_kernel("aten::exp", "CPU")
    aten.impl("exp", lambda self: before.call_boxed(None, self) + 1, "CPU")
    assert torch.zeros(1).exp().item() == 2
    aten.impl(torch.ops.aten.neg.default, neg, "AutogradCPU", with_keyset=True)
    assert (-torch.ones(1)).item() == -2
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding neg's"):
        aten.impl("neg", neg, "AutogradCPU", allow_override=False)
    other = Library("aten", "IMPL", "CPU")
    other.impl("exp", lambda self: self)
    assert torch.zeros(1).exp().item() == 0
    other._destroy()
    assert torch.zeros(1).exp().item() == 2
    with pytest.raises(RuntimeError, match="either a name or an OpOverload object"):
        aten.impl(torch.ops.aten.exp, neg, "CPU")


def test_modes_hear_first(aten):
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    aten.impl("exp", lambda self: self.sin(), "CPU")
    assert _len_torch_dispatch_stack() == 0
    with Names():
        assert torch.zeros(1).exp().item() == 0
        assert _len_torch_dispatch_stack() == 1
    assert "aten.exp.default" in names and "aten.sin.default" not in names


def test_threads_of_before_and_made_elsewhere():
    found: list[float] = []
    libraries: list[Library] = []
    begun, given, gone = threading.Event(), threading.Event(), threading.Event()

    def exp() -> None:
        found.append(torch.ones(1).exp().floor().item())

    def make() -> None:
        libraries.append(Library("aten", "IMPL"))
        libraries[0].impl("exp", lambda self: self * 7, "CPU")

    def work() -> None:
        exp()
        begun.set()
        given.wait()
        exp()
        libraries[0]._destroy()
        gone.set()
        exp()
        assert not interpreters.STACK.modes

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    other = threading.Thread(target=make)
    other.start()
    other.join()
    exp()
    given.set()
    gone.wait()
    exp()
    thread.join()
    assert sorted(found) == [2, 2, 2, 7, 7] and not interpreters.STACK.modes


@pytest.mark.parametrize("mode", [nullcontext(), torch.autocast("cpu")])
def test_functions_that_end_their_library(aten, mode):
    def once(self):
        aten._destroy()
        return self * 7

    aten.impl("exp", once, "CPU")
    with mode:
        assert [torch.ones(1).exp().floor().item() for _ in range(2)] == [7, 2]
    assert not interpreters.STACK.modes and not interpreters.MODES
