"""Tensors of a program's own class: what keeps the class, and what writing through them reaches."""

from __future__ import annotations

import pytest

import rushlight as torch


class Own(torch.Tensor):
    pass


def test_results_keep_the_class():
    x = torch.ones(2, 3).as_subclass(Own)
    made = (
        x + 1,
        1 + x,
        x[0],
        x.detach(),
        x.data,
        x.max(0).values,
        x.sort()[1],
        torch.linalg.svd(x).S,
        *x.unbind(),
        torch.stack([x, x]),
        x.clone().requires_grad_(),
    )
    assert {type(t) for t in made} == {Own} and type(x.max(0)).__name__ == "max"
    assert type(x.as_subclass(torch.Tensor)) is type(torch.Tensor(x)) is torch.Tensor


def test_a_parameter_of_ones_own_class():
    p = torch.nn.Parameter(torch.ones(2).as_subclass(Own))
    assert type(p) is Own and isinstance(p, torch.nn.Parameter) and p.requires_grad
    assert repr(p) == "Parameter(Own([1., 1.], requires_grad=True))"
    assert type(torch.nn.Parameter(torch.ones(2)).detach()) is torch.Tensor


def test_writes_reach_the_graph_of_what_is_seen():
    leaf, y = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    x = leaf.as_subclass(Own) * 2
    x[0].mul_(y * 5)
    x.sum().backward()
    assert leaf.grad.tolist() == [[10, 10, 10], [2, 2, 2]] and y.grad.tolist() == [10, 10, 10]
    base = torch.zeros(3)
    base.as_subclass(Own)[0] = torch.ones((), requires_grad=True)
    assert base.requires_grad and base.tolist() == [1, 0, 0]


def test_what_views_refuse():
    leaf = torch.zeros(3, requires_grad=True)
    view = torch.zeros(3)[:].requires_grad_()
    for t in (leaf.as_subclass(Own), view, view[0], torch.zeros(3).as_subclass(Own).requires_grad_()):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            t.mul_(2)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        torch.zeros(3)[0].detach_()


class Logged(torch.Tensor):
    names: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_super_runs_the_op_and_keeps_gradients():
    leaf, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    x = (leaf * 1).as_subclass(Logged)
    x.mul_(y * 3)
    assert type(torch.max(x, 0).values) is Logged and Logged.names == ["mul_", "max"]
    x.sum().backward()
    assert leaf.grad.tolist() == [3, 3] and y.grad.tolist() == [3, 3]


def test_fills_of_a_class_with_a_torch_function_write():
    names = []

    class Listening(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.zeros(4).as_subclass(Listening)
    for name, args in (("bernoulli_", (1,)), ("normal_", (3.0, 0.0)), ("uniform_", (2.0, 2.0))):
        names.clear()
        found = getattr(x, name)(*args)
        assert found is x and names == [name]
        assert x.as_subclass(torch.Tensor).tolist() == [args[0]] * 4


def test_a_class_whose_permute_means_something_else():
    class Shifting(torch.Tensor):
        def permute(self, shifts=1):
            raise AssertionError("T is not permute")

        transpose = conj = permute

    x = torch.ones(2, 3).as_subclass(Shifting)
    assert x.T.shape == x.mT.shape == x.H.shape == x.mH.shape == (3, 2)
