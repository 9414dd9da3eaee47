"""What compiled calls leave behind beside values: sizes in place, storages, flags, generators, hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

Tensor = torch.Tensor
ROUNDS = 14


def _pairs(f: Callable[..., Any], make: Callable[[int], Any], **how: Any) -> Any:
    """Of each call: what was given to the compiled function, what it gave, and what the plain one gives."""
    compiled = torch.compile(f, **how)
    for i in range(ROUNDS):
        given = make(i)
        yield given, compiled(given), f(make(i))


def _numbers(i: int) -> Tensor:
    return torch.arange(6.0) + i


def _turned(a: Tensor) -> Any:
    b = a.view(2, 3)
    b.t_()
    return b


def _squeezed(a: Tensor) -> Any:
    b = a.view(1, 6)
    b.squeeze_(0)
    return b


def _turned_and_written(a: Tensor) -> Any:
    a[1:3] += 1
    b = a.view(2, 3)
    b.transpose_(0, 1)
    return b


@pytest.mark.parametrize("f", [_turned, _squeezed, _turned_and_written])
@pytest.mark.parametrize("how", [{}, {"backend": lambda module, inputs: module.forward}])
def test_sizes_that_are_taken_in_place(f: Any, how: Any) -> None:
    for given, found, wanted in _pairs(f, _numbers, **how):
        assert found.stride() == wanted.stride() and found.equal(wanted)
        assert found.data_ptr() == given.data_ptr()


def test_arguments_that_are_given_back_keep_their_storage() -> None:
    for given, found, _ in _pairs(lambda a: (a, a + 0, a), _numbers):
        assert found[0] is given and found[2] is given
        assert given.storage_offset() == 0 and given.untyped_storage().nbytes() == 24


def test_what_is_made_in_inference_mode() -> None:
    @torch.inference_mode()
    def f(a: Tensor) -> Any:
        b = a * 2
        return b, b.view(2, 3), a

    for _, found, _ in _pairs(f, _numbers):
        assert [t.is_inference() for t in found] == [True, True, False]
        assert found[0].data_ptr() == found[1].data_ptr()


@pytest.mark.parametrize("how", [{}, {"mode": "reduce-overhead"}])
def test_generators_of_the_programs_own(how: Any) -> None:
    own, other = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    compiled = torch.compile(lambda a: a + torch.rand(6, generator=own), **how)
    for _ in range(ROUNDS):
        assert compiled(torch.zeros(6)).equal(torch.rand(6, generator=other))
    assert own.get_state().equal(other.get_state())


def test_hooks_run_as_often_as_there_are_backward_passes() -> None:
    weight, heard = torch.ones(6, requires_grad=True), list[int]()
    weight.register_hook(lambda grad: heard.append(1) or grad * 2)
    compiled = torch.compile(lambda a: (a * weight).sum())
    for i in range(ROUNDS):
        weight.grad = None
        compiled(_numbers(i)).backward()
        assert len(heard) == i + 1
        assert weight.grad is not None and weight.grad.equal(_numbers(i) * 2)


@pytest.mark.parametrize("how", [{}, {"mode": "reduce-overhead"}])
def test_gradients_that_are_kept(how: Any) -> None:
    def f(a: Tensor) -> Any:
        b = a * 3
        b.retain_grad()
        return b, (b * b).sum()

    compiled = torch.compile(f, **how)
    for i in range(ROUNDS):
        b, loss = compiled(_numbers(i).requires_grad_())
        loss.backward()
        assert b.equal(_numbers(i) * 3) and b.grad.equal(_numbers(i) * 6)


def test_writes_through_views_with_a_backend() -> None:
    def f(a: Tensor) -> Any:
        b = a * 2
        b[1:3].mul_(5)
        return b

    compiled = torch.compile(f, backend=lambda module, inputs: module.forward)
    for i in range(ROUNDS):
        a, other = _numbers(i).requires_grad_(), _numbers(i).requires_grad_()
        found = compiled(a)
        assert found.equal(f(other))
        found.sum().backward()
        f(other).sum().backward()
        assert a.grad is not None and a.grad.equal(other.grad)
