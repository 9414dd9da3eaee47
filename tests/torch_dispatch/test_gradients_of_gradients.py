"""Gradients, and gradients of those, on classes without memory: what an op of the backward pass is made of is
heard, and nothing that was made without memory is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight.nn import functional as F
from rushlight.utils._python_dispatch import TorchDispatchMode
from rushlight.utils.checkpoint import checkpoint


class Wrapper(torch.Tensor):
    """Has a tensor and no memory; gives its own kind."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Any:
        made: Any = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=inner.requires_grad,
        )
        made.inner = inner.detach()
        return made

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tree_map(lambda t: t.inner if isinstance(t, cls) else t, (args, kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*given[0], **given[1]))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "silu": F.silu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": F.elu,
    "softplus": F.softplus,
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([1, 2, 3, 0])),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x.detach() * 0.5),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x[None], (2, 3)),
    "median": lambda x: x.median(1)[0],
    "kthvalue": lambda x: x.kthvalue(2, 1)[0],
    "mode": lambda x: x.mode(1)[0],
    "cummax": lambda x: x.cummax(1)[0],
}


def _both(function: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    first = torch.autograd.grad(function(x).pow(2).sum(), x, create_graph=True)[0]
    return first, torch.autograd.grad(first.pow(2).sum(), x)[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_gradients_are_those_of_plain_tensors(name: str) -> None:
    values = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    plain = _both(FUNCTIONS[name], values.clone().requires_grad_())
    wrapped = _both(FUNCTIONS[name], Wrapper(values.clone().requires_grad_()))
    for expected, found in zip(plain, wrapped, strict=True):
        assert type(found) is Wrapper
        torch.testing.assert_close(found.inner, expected.detach(), rtol=1e-4, atol=1e-5)


class Ops(TorchDispatchMode):
    """Writes down the ops that it hears, and runs them."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.heard.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["gelu", "silu", "layer_norm"])
def test_modes_hear_no_op_more_of_tensors_on_meta(name: str) -> None:
    values = torch.randn(4, 6)
    heard = []
    for device in ("cpu", "meta"):
        with Ops() as ops:
            _both(FUNCTIONS[name], values.to(device).requires_grad_())
        heard.append([op for op in ops.heard if "_to_copy" not in op])
    assert heard[0] == heard[1]


class Slotted(Wrapper):
    """Holds its tensor in a slot, and more in one of a private name."""

    __slots__ = ("__more", "inner", "never")

    @property
    def more(self) -> Any:
        """What it holds besides."""
        return self.__more

    @more.setter
    def more(self, value: Any) -> None:
        self.__more = value


def test_inputs_of_transforms_are_copied_with_their_slots() -> None:
    x: Any = Slotted(torch.tensor([1.0, -2.0, 3.0]))
    found: Any = torch.autograd.functional.hessian(
        lambda t: (t.relu() * t).sum(), x, outer_jacobian_strategy="forward-mode", vectorize=True
    )
    assert found.inner.tolist() == [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]]


def test_private_slots_are_copied_too() -> None:
    x: Any = Slotted(torch.ones(2))
    x.more = 5
    seen: list[int] = []

    def f(t: Any) -> Any:
        seen.append(t.more)
        return (t * t).sum()

    torch.func.vjp(f, x)
    assert seen == [5]


SAVING: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: x.median(1)[0],
    "cummax": lambda x: x.cummax(1)[0],
    "rsqrt": lambda x: (x * x).rsqrt(),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "gelu": F.gelu,
}


@pytest.mark.parametrize("name", SAVING)
def test_what_is_kept_is_packed_as_the_class_gave_it(name: str) -> None:
    values = torch.randn(4, 6)
    seen: list[type] = []

    def pack(t: Any) -> Any:
        seen.append(type(t))
        return (t,)

    def packed(x: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda held: held[0]):
            return SAVING[name](x)

    plain = values.clone().requires_grad_()
    expected = torch.autograd.grad(SAVING[name](plain).sum(), plain)[0]
    for run in (packed, lambda x: checkpoint(SAVING[name], x, use_reentrant=False)):
        x = Wrapper(values.clone().requires_grad_())
        found = torch.autograd.grad(run(x).sum(), x)[0]
        torch.testing.assert_close(found.inner, expected)
    assert set(seen) == {Wrapper}
