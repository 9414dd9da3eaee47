"""Dual tensors that are written into others: all that share the memory are dual from then on, at every level."""

from __future__ import annotations

import threading
from functools import partial

import pytest

import rushlight as torch
from rushlight import func
from rushlight.autograd import forward_ad

X = torch.linspace(-1, 1, 6, dtype=torch.float64)


def seen_before(x):
    out = torch.zeros(2, 6, dtype=torch.float64)
    row = out[0]
    out.copy_((x**3).expand(2, 6))
    return row


def written_by_row(x):
    out = torch.zeros(2, 6, dtype=torch.float64)
    out[0] = x**3
    out[1].view(2, 3).t().mul_(0).add_(x[:2] * x[2])
    return out


@pytest.mark.parametrize("f", [seen_before, written_by_row])
def test_derivatives_of_all_orders_follow_what_is_written(f):
    assert torch.allclose(func.jacfwd(f)(X), func.jacrev(f)(X))
    assert torch.allclose(func.jacfwd(func.jacfwd(f))(X), func.jacfwd(func.jacrev(f))(X))


def test_tensors_of_a_batch_become_dual_with_their_views():
    def f(other, x):
        other = other.clone()
        row = other[0]
        row.copy_(x**2)
        return other

    others = torch.arange(24.0, dtype=torch.float64).view(2, 2, 6)
    points = torch.stack([X, X + 1])
    values, tangents = func.vmap(lambda o, x: func.jvp(partial(f, o), (x,), (torch.ones_like(x),)))(
        others, points
    )
    assert values[:, 0].equal(points**2)
    assert values[:, 1].equal(others[:, 1])
    assert tangents[:, 0].allclose(2 * points)
    assert not tangents[:, 1].any()


def test_a_switched_off_mode_ends_where_a_derivative_begins():
    x, one = X[3], torch.ones((), dtype=torch.float64)
    with forward_ad._set_fwd_grad_enabled(False):
        assert func.jvp(torch.sin, (x,), (one,))[1].equal(x.cos())

    def f(x):
        with forward_ad._set_fwd_grad_enabled(False):
            fixed = x**3
        return x**3 - fixed * x

    assert func.jvp(lambda x: func.jvp(f, (x,), (one,))[1], (x,), (one,))[1].allclose(6 * x)


def test_a_switched_off_mode_is_its_threads_alone():
    def elsewhere():
        forward_ad._set_fwd_grad_enabled(False)
        seen.append(forward_ad._is_fwd_grad_enabled())

    seen = []
    with forward_ad.dual_level():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen == [False]
        assert forward_ad.unpack_dual(forward_ad.make_dual(X, X) * 2).tangent.equal(2 * X)


def test_what_was_written_is_shown_with_its_tangent_while_that_lasts():
    out = torch.zeros(1)
    with forward_ad.dual_level():
        out.copy_(forward_ad.make_dual(torch.ones(1), torch.ones(1)))
        assert repr(out) == "tensor([1.], tangent=tensor([1.]))"
    assert repr(out) == "tensor([1.])"


def test_parts_of_complex_numbers_and_these_become_dual_together():
    def f(x):
        out, other = (torch.zeros(6, dtype=torch.complex128) for _ in range(2))
        parts, real = torch.view_as_real(out), other.real
        parts[:, 1].copy_(x**2)
        other.copy_(x * (1 + 1j))
        return out.imag, real * 1

    squares, ones = func.jvp(f, (X,), (torch.ones_like(X),))[1]
    assert squares.allclose(2 * X)
    assert ones.equal(torch.ones_like(X))


def test_the_way_back_is_tracked_where_the_way_there_was_not():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        out, back = func.vjp(lambda x: x**2, x)
    (found,) = back(torch.tensor(1.0))
    assert not out.requires_grad
    assert torch.autograd.grad(found, x)[0] == 2


def test_functions_on_a_batch_get_nested_arguments_and_names():
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(x, ys, *, scale):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, ys, *, scale):
            assert in_dims == (0, [0, {"a": None}])
            return (x + ys[0] + ys[1]["a"]) * scale, 0

    ones = torch.ones(3)
    found = func.vmap(lambda x, y: Sum.apply(x, [y, {"a": torch.ones(1)}], scale=2))(ones, ones)
    assert found.tolist() == [6, 6, 6]
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        func.vmap(lambda x: Sum.apply(x, [], scale=x))(ones)


def test_sums_of_exponentials_have_second_derivatives_forwards():
    x = torch.tensor([0.3, -1.0, 2.0, 0.5], dtype=torch.float64)
    weights = torch.tensor([1.0, -2.0, 0.0, -1.0], dtype=torch.float64)
    one = lambda x: torch.logcumsumexp(x, 0) @ weights  # noqa: E731
    assert func.jacfwd(func.jacrev(one))(x).allclose(func.jacfwd(func.jacfwd(one))(x))
    assert func.jacfwd(func.jacrev(one))(x).allclose(
        func.hessian(lambda x: x.exp().cumsum(0).log() @ weights)(x)
    )
