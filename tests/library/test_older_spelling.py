"""torch._custom_ops: ops whose functions are registered apart; and what runs below autograd."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import rushlight as torch
from rushlight._custom_op.impl import get_op, global_registry

Tensor = torch.Tensor
custom_ops: Any = import_module("rushlight._custom_ops")
ops: Any = torch.ops
private: Any = torch


@pytest.fixture(autouse=True)
def _destroyed() -> Iterator[None]:
    yield
    for op in list(global_registry.values()):
        op._destroy()


def _scaled() -> Any:
    @custom_ops.custom_op("older::scaled")
    def scaled(x: Tensor, by: float) -> Tensor:
        raise NotImplementedError

    @custom_ops.impl("older::scaled")
    def _(x: Tensor, by: float) -> Tensor:
        return x.detach() * by

    return get_op("older::scaled")


def test_gradients_are_registered_apart() -> None:
    op, x = _scaled(), torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
        op(x, 2.0)
    assert op(x.detach(), 2.0).tolist() == [2.0] * 3

    @custom_ops.impl_save_for_backward("older::scaled")
    def _(inputs: Any, output: Any) -> Any:
        return {"by": inputs.by}

    with pytest.raises(RuntimeError, match="'save_for_backward' registration .* find a 'backward'"):
        op(x, 2.0)

    @custom_ops.impl_backward("older::scaled")
    def _(ctx: Any, saved: Any, grad: Tensor) -> dict[str, Tensor]:
        return {"x": grad * saved["by"]}

    op(x, 3.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0] * 3


def test_what_is_refused() -> None:
    for call, text in (
        (lambda: custom_ops.custom_op("older::a.b", "(Tensor x) -> Tensor"), "do not handle overloads"),
        (lambda: custom_ops.custom_op("aten::a", "(Tensor x) -> Tensor"), "is a reserved namespace"),
        (lambda: custom_ops.custom_op("older::a", "(Tensor(a!) x) -> ()"), "only supports functional"),
        (lambda: custom_ops.custom_op("older::a", "(Tensor self) -> Tensor"), "named 'self'"),
        (lambda: get_op("older::nothing"), "Could not find the operator"),
    ):
        with pytest.raises(ValueError, match=text):
            call()  # type: ignore[no-untyped-call]
    _scaled()
    with pytest.raises(RuntimeError, match="that already has a cpu impl"):
        custom_ops.impl("older::scaled", func=lambda x, by: x)


def test_below_autograd() -> None:
    below: Any = torch._C._AutoDispatchBelowAutograd
    with torch.library._scoped_library("older_below", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU")
        lib.impl("f", lambda x: x + 2, "Autograd")
        utils: Any = import_module("rushlight._library.utils")
        op: Any = utils.lookup_op("older_below::f")
        x = torch.zeros(1, requires_grad=True)
        assert op(x).item() == 2.0
        with below():
            found = op(x)
        assert found.item() == 1.0 and not found.requires_grad
        guard = below()
        assert op(x).item() == 1.0
        del guard
        assert op(x).item() == 2.0 and torch.is_grad_enabled()
        assert torch._C._dispatch_has_kernel_for_dispatch_key("older_below::f", "CPU")
        assert not torch._C._dispatch_has_kernel_for_dispatch_key("older_below::f", "Meta")


def test_an_op_without_a_formula_warns_when_its_gradient_is_asked_for() -> None:
    with torch.library._scoped_library("fallback", "FRAGMENT") as lib:
        lib.define("doubled(Tensor x, Tensor[] more) -> Tensor")
        lib.impl("doubled", lambda x, more: x.detach() * 2, "CPU")
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CPU")
        lib.define("silent(Tensor x) -> Tensor")
        lib.impl("silent", lambda x: x.detach() * 2, "CPU")
        lib.impl("silent", torch.library.fallthrough_kernel, "Autograd")
        x: Any = torch.ones(3, requires_grad=True)
        y = ops.fallback.doubled(x, [x])
        assert y.grad_fn.name() == "torch::autograd::WarnNotImplemented"
        assert len(y.grad_fn.next_functions) == 2
        with pytest.warns(UserWarning, match="fallback::doubled: an autograd kernel was not registered"):
            y.sum().backward()
        assert x.grad is None
        with pytest.warns(UserWarning, match="fallback::twice: an autograd kernel was not registered"):
            ops.fallback.twice(x).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0]
        assert not ops.fallback.silent(x).requires_grad
        with torch.no_grad():
            assert not ops.fallback.doubled(x, [x]).requires_grad


def test_the_fallback_of_autograd_may_be_nothing() -> None:
    private._C._set_autograd_fallback_mode("nothing")
    try:
        with torch.library._scoped_library("fallback", "FRAGMENT") as lib:
            lib.define("split(Tensor? none, Tensor x) -> (Tensor, Tensor)")
            lib.define("of_none(Tensor none, Tensor x) -> (Tensor, Tensor)")
            for name in ("split", "of_none"):
                lib.impl(name, lambda none, x: (none, x.detach().clone()), "CPU")
                empty, y = getattr(ops.fallback, name)(None, torch.ones(2, requires_grad=True))
                assert empty is None
                assert not y.requires_grad
    finally:
        private._C._set_autograd_fallback_mode("warn")
    assert private._C._get_autograd_fallback_mode() == "warn"
    with pytest.raises(RuntimeError, match="Unsupported AutogradFallbackMode"):
        private._C._set_autograd_fallback_mode("loud")
