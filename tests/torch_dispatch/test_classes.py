"""Classes with a __torch_dispatch__: who answers after a mode, what wrappers say of themselves, copies."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils._python_dispatch import TorchDispatchMode
from rushlight.utils._pytree import tree_map, tree_map_only


class Wrapper(torch.Tensor):
    heard: list[str] = []

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset()
        )
        made.inner = inner
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.heard.append(str(func))
        given = tree_map(lambda v: v.inner if isinstance(v, Wrapper) else v, args)
        return func(*given, **(kwargs or {}))


class Deaf(Wrapper):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Polite(TorchDispatchMode):
    """Answers for plain tensors only."""

    def __init__(self):
        self.types = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.types.append(types)
        return func(*args, **(kwargs or {})) if not types else NotImplemented


def test_a_class_answers_where_the_mode_does_not():
    wrapper = Wrapper(torch.tensor([-1.0, 2.0]))
    Wrapper.heard.clear()
    with Polite() as mode:
        assert wrapper.abs().tolist() == [1.0, 2.0]
    assert mode.types[:2] == [(Wrapper,), ()]  # what the class calls comes to the mode again
    assert Wrapper.heard == ["aten.abs.default"]
    mode = Polite()
    with pytest.raises(TypeError) as caught, mode:
        Deaf(torch.ones(2)).abs()
    assert str(caught.value).startswith(
        "Multiple dispatch failed for 'torch._ops.aten.abs.default'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n\n  - mode object {mode}\n  - tensor subclass {Deaf}\n\n"
    )


def test_a_modes_handler_is_no_classmethod():
    class Wrong(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with (
        pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"),
        Wrong(),
    ):
        torch.ones(2)


def test_wrappers_begin_where_they_say():
    inner = torch.randn(4, 6).t().diagonal(offset=2)
    wrapper = Wrapper(inner)
    assert wrapper.shape == inner.shape and wrapper.stride() == inner.stride()
    assert wrapper.storage_offset() == inner.storage_offset() > 0


def test_set_is_heard():
    class Heard(torch.Tensor):
        names: list[str] = []
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.names.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = Heard(torch.zeros(2))
    x.set_(torch.ones(3))
    x.set_(torch.ones(3).untyped_storage(), 1, (2,), (1,))
    assert Heard.names == ["aten.set_.source_Tensor", "aten.set_.source_Storage_storage_offset"]
    assert x.shape == (2,) and type(x) is Heard


def test_deepcopy_asks_the_class_for_a_new_one():
    class Plain(torch.Tensor): ...

    class Wrong(torch.Tensor):
        def new_empty(self, shape):
            return torch.Tensor(shape)

    class Right(torch.Tensor):
        def new_empty(self, shape):
            return type(self)(shape)

    for cls in (Plain, Wrong):
        with pytest.raises(
            RuntimeError, match="non-wrapper .* implement new_empty.. and for which that function"
        ):
            deepcopy(cls(3))
    right = Right([1.0, 2.0])
    copied = deepcopy(right)
    assert type(copied) is Right and copied.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="for wrapper .* implement clone.. and for which cloning"):
        deepcopy(Wrapper(torch.ones(2)))


def test_prim_is_reserved():
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(ValueError, match="prim is a reserved namespace"):
            torch.library.Library("prim", kind)


class Answering(torch.Tensor):
    """Has a tensor, and answers ops with plain tensors; what it cannot detach is not its own."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls: Any, inner: torch.Tensor, requires_grad: bool = False) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket is torch.ops.aten.detach:
            return cls(args[0].inner)
        args, kwargs = tree_map_only(cls, lambda t: t.inner, (args, kwargs or {}))
        return func(*args, **kwargs)


@pytest.mark.parametrize(
    "name", ["relu", "exp", "sigmoid", "tanh", "sqrt", "softmax", "log_softmax", "std", "max", "layer_norm"]
)
def test_a_plain_result_is_kept_by_nobody_but_its_node(name: str) -> None:
    function: Any = {
        "softmax": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(1),
        "std": lambda x: x.std(1),
        "max": lambda x: x.max(1)[0],
        "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (3,)),
    }.get(name) or getattr(torch, name)
    values = torch.tensor([[0.5, 2.0, 1.0], [0.25, 4.0, 0.125]])
    weights = torch.tensor([1.0, -2.0, 3.0])[: function(values)[0].numel()]
    plain, wrapped = values.clone().requires_grad_(), Answering(values, True)
    expected, found = function(plain), function(wrapped)
    assert type(found) is torch.Tensor and found.requires_grad and found.equal(expected)
    assert repr(found.grad_fn).startswith(f"<{found.grad_fn.name()} object at ")
    ours = torch.autograd.grad((found * weights.view_as(found[:1])).sum(), wrapped)[0]
    wanted = torch.autograd.grad((expected * weights.view_as(expected[:1])).sum(), plain)[0]
    torch.testing.assert_close(ours, wanted)
