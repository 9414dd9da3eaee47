"""Methods of a plain tensor that is handed an instance of a class: the class hears of it."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.utils._pytree import tree_map

HEARD: list[str] = []


class Wrapped(torch.Tensor):
    """Has a tensor, and writes down the ops that it hears."""

    inner: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: Any, inner: torch.Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        HEARD.append(str(func.overloadpacket.__name__))
        found = func(*tree_map(lambda t: t.inner if isinstance(t, cls) else t, args), **(kwargs or {}))
        return args[0] if HEARD[-1].endswith("_") else tree_map(cls, found)


class Named(torch.Tensor):
    """Writes down the functions that it hears."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        HEARD.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize(
    ("index", "size", "heard"),
    [
        (slice(None), (3, 2), ["copy_"]),
        (0, (2,), ["copy_"]),
        (torch.tensor([1, 2]), (2, 2), ["index_put_"]),
    ],
)
def test_a_wrapper_is_written_into_a_plain_tensor(index: Any, size: Any, heard: list[str]) -> None:
    plain, wanted = torch.zeros(3, 2), torch.zeros(3, 2)
    wanted[index] = 5.0
    HEARD.clear()
    plain[index] = Wrapped(torch.full(size, 5.0))
    assert plain.equal(wanted) and heard == HEARD


@pytest.mark.parametrize("name", ["copy_", "resize_as_", "to"])
def test_methods_with_one_operand(name: str) -> None:
    other = torch.ones(3, 2).as_subclass(Named)
    HEARD.clear()
    assert type(getattr(torch.zeros(3, 2), name)(other)) is Named
    assert [name] == HEARD


def test_brackets_and_numbers() -> None:
    plain, one = torch.zeros(3, 2), torch.tensor(1.0).as_subclass(Named)
    HEARD.clear()
    assert type(plain.fill_(one)) is Named
    plain[0] = one
    assert type(plain[torch.tensor([0]).as_subclass(Named)]) is Named
    assert HEARD == ["fill_", "__setitem__", "__getitem__"]
    assert type(plain.map_(torch.zeros(3, 2).as_subclass(Named), lambda a, b: a + b)) is Named


class Bare(torch.Tensor):
    """A subclass that says nothing."""


@pytest.mark.parametrize("name", ["copy_", "resize_as_", "to", "fill_", "map_"])
def test_classes_that_say_nothing_are_asked_once(name: str) -> None:
    other = torch.tensor(1.0).as_subclass(Bare)
    more = [lambda a, b: b] if name == "map_" else []
    assert type(getattr(torch.zeros(()), name)(other, *more)) is Bare


def test_parameters_are_loaded_from_a_class_that_says_nothing() -> None:
    layer, plain = torch.nn.Linear(2, 2, bias=False), torch.zeros(2)
    layer.load_state_dict({"weight": torch.ones(2, 2).as_subclass(Bare)})
    plain[:] = torch.ones(2).as_subclass(Bare)
    assert layer.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]] and plain.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("write", "plain", "wrapped"),
    [
        (lambda y, w: y.copy_(w), [0.0, 0.0], [1.0, 1.0]),
        (lambda y, w: y.__setitem__(slice(1, None), w[:1] * 2), [2.0, 0.0], [2.0, 0.0]),
        (lambda y, w: y.__setitem__(torch.tensor([1, 0]), w), [0.0, 0.0], [1.0, 1.0]),
        (lambda y, w: y.mul_(w), [6.0, 6.0], [2.0, 2.0]),
    ],
)
def test_gradients_of_what_is_written_into_a_plain_tensor(
    write: Any, plain: list[float], wrapped: list[float]
) -> None:
    a, w = torch.ones(2, requires_grad=True), Wrapped(torch.full((2,), 3.0)).requires_grad_()
    y = a * 2
    write(y, w)
    y.sum().backward()
    assert a.grad is not None and w.grad is not None
    assert [(t.inner if isinstance(t, Wrapped) else t).tolist() for t in (a.grad, w.grad)] == [plain, wrapped]


@pytest.mark.parametrize(
    ("write", "wanted"),
    [
        (lambda y: y.exp_(), [14.7781, 14.7781]),
        (lambda y: y.__setitem__(0, 5.0), [0.0, 2.0]),
        (lambda y: y[1:].mul_(3), [2.0, 6.0]),
        (lambda y: y[1:].exp_(), [2.0, 14.7781]),
    ],
)
def test_gradients_of_writes_to_a_wrapper_and_its_views(write: Any, wanted: list[float]) -> None:
    w = Wrapped(torch.ones(2)).requires_grad_()
    y = w * 2
    write(y)
    y.sum().backward()
    assert isinstance(w.grad, Wrapped)
    assert w.grad.inner.tolist() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(("name", "wanted"), [("SGD", 0.6), ("Adam", 0.8), ("RMSprop", -0.70888)])
def test_optimizers_step_wrappers_by_ops(name: str, wanted: float) -> None:
    w = Wrapped(torch.ones(2)).requires_grad_()
    optimizer = getattr(torch.optim, name)([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (w * 2).sum().backward()
        optimizer.step()
    assert w.inner.tolist() == pytest.approx([wanted, wanted], abs=1e-5)
