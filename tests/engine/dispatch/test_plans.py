"""Plans: what a call did once is done again without its body, with the same values, nodes and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.ops.table import ROWS

F = torch.nn.functional

# Composites that hand their operands to one row, in ways that differ: operands, lists, several results, numbers.
CALLS: dict[str, Callable[..., Any]] = {
    "matmul": lambda x, y, w: x @ w,
    "cat": lambda x, y, w: torch.cat([x, y]),
    "cat of three": lambda x, y, w: torch.cat((x, y, x), 1),
    "stack": lambda x, y, w: torch.stack([x, y], 1),
    "softmax": lambda x, y, w: F.softmax(x, -1),
    "layer_norm": lambda x, y, w: F.layer_norm(x, (8,), w[0], w[1]),
    "cross_entropy": lambda x, y, w: F.cross_entropy(x, torch.tensor([1, 2, 0, 3]), reduction="sum"),
    "max_pool2d": lambda x, y, w: F.max_pool2d(x[None], 2),
    "the same twice": lambda x, y, w: torch.cat([x, x]),
}


@pytest.mark.parametrize("name", CALLS)
def test_tracked_calls_give_the_same_each_time(name: str) -> None:
    torch.manual_seed(0)
    x, y, w = torch.randn(4, 8), torch.randn(4, 8), torch.randn(8, 8)
    seen = []
    for tracked in [(True, True, True)] * 5 + [(True, False, False)] * 4 + [(False, True, True)] * 4:
        given = [t.clone().requires_grad_(on) for t, on in zip((x, y, w), tracked, strict=True)]
        out = CALLS[name](*given)
        called = None if out.grad_fn is None else (out.grad_fn.name(), len(out.grad_fn.next_functions))
        if called is not None:
            out.mul(torch.arange(out.numel()).reshape(out.shape).float()).sum().backward()
        grads = [None if t.grad is None else t.grad.numpy().tobytes() for t in given]
        seen.append((tracked, out.detach().numpy().tobytes(), called, grads))
    for tracked, *what in seen:
        first = next(rest for as_given, *rest in seen if as_given == tracked)
        assert what == first


def test_a_tracked_call_becomes_a_plan() -> None:
    g, h = torch.randn(3, 5, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    for _ in range(3):
        found = torch.matmul(g, h)
    plans = function(ROWS["matmul"]).__globals__["PLANS"]
    assert any(key[-2:] == (True, True) for key in plans)
    (found * 2).sum().backward()
    assert g.grad is not None and h.grad is not None
    with torch.no_grad():
        assert torch.matmul(g, h).grad_fn is None


def test_matrices_turned_share_memory_and_gradients() -> None:
    x = torch.arange(6.0).reshape(2, 3).clone()
    for _ in range(3):
        seen = x.T
        assert seen.shape == (3, 2) and seen.data_ptr() == x.data_ptr() and seen._base is x
    seen[0, 1] = 9
    assert x[1, 0] == 9 and x._version == 1
    y = x.clone().requires_grad_()
    assert y.T.grad_fn.name() == "PermuteBackward0"
    assert x.double().T.dtype is torch.float64
    with pytest.warns(UserWarning, match="deprecated"):
        assert torch.ones(2, 3, 4).T.shape == (4, 3, 2)


def test_batches_of_few_elements_have_numpys_bits() -> None:
    torch.randn(100, 100).tanh()  # so that machine code is there
    rng = np.random.default_rng(0)
    for n, k, m in ((4, 4, 4), (3, 7, 5), (2, 16, 9), (1, 8, 3), (4, 1, 4)):
        a = rng.standard_normal((3, n, k), np.float32)
        b = rng.standard_normal((3, k, m), np.float32)
        for left, right in ((a, b), (a, a.transpose(0, 2, 1)), (a.transpose(0, 2, 1), a)):
            wanted = np.matmul(left, right)
            for _ in range(3):
                found = torch.bmm(torch.from_numpy(left), torch.from_numpy(right))
                assert found.numpy().tobytes() == wanted.tobytes()
    square = torch.from_numpy(rng.standard_normal((2, 4, 4), np.float32))
    apart = torch.bmm(square, square.clone())
    assert torch.equal(torch.bmm(square, square), apart)


def test_lent_memory() -> None:
    whole = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    part = torch.from_numpy(whole[1:])
    assert part.untyped_storage().nbytes() == 32 and part.storage_offset() == 0
    part[0, 0] = -1
    assert whole[1, 0] == -1
    with pytest.raises(RuntimeError, match="resizable"):
        part.resize_(100)
    assert torch.from_numpy(np.arange(3, dtype=np.longlong)).dtype is torch.int64
    assert torch.from_numpy(np.arange(3, dtype=np.longlong)).numpy().dtype.char == "l"
    assert torch.from_numpy(np.ones((2, 3), np.float32).T).stride() == (1, 3)
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(whole[::-1])
    with torch.inference_mode():
        assert torch.from_numpy(whole).is_inference()


IN_PLACE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add_": (lambda x, y, k: x.add_(y, alpha=k), lambda x, y, k: x + k * y),
    "sub_": (lambda x, y, k: x.sub_(y, alpha=k), lambda x, y, k: x - k * y),
    "addcmul_": (lambda x, y, k: x.addcmul_(y, y, value=k), lambda x, y, k: x + k * y * y),
    "lerp_": (lambda x, y, k: x.lerp_(y, k), lambda x, y, k: x + k * (y - x)),
    "clamp_": (lambda x, y, k: x.clamp_(-k, k), lambda x, y, k: x.clamp(-k, k)),
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_attributes_of_writes_may_differ_from_call_to_call(name: str, dtype: str) -> None:
    torch.manual_seed(0)
    write, wanted = IN_PLACE[name]
    x = torch.randn(3, 4).to(getattr(torch, dtype))
    for call in range(12):
        y = torch.randn(3, 4).to(x.dtype) if call % 3 else torch.randn(4).to(x.dtype)
        k = (0.5, 0.25, 2.0)[call % 3]
        before, version = x.clone(), x._version
        assert write(x, y, k) is x and x._version == version + 1
        torch.testing.assert_close(x, wanted(before.double(), y.double(), k).to(x.dtype))


def test_writes_that_plans_may_not_make() -> None:
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    for _ in range(3):
        x.add_(y, alpha=0.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(x.t(), alpha=0.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        y[:1].expand(4, 4).add_(x, alpha=0.5)
    before = x.clone()
    x.add_(x, alpha=0.5)
    assert torch.equal(x, before.add(before, alpha=0.5))


def test_writes_to_graphs_after_plans() -> None:
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    for _ in range(3):
        x.add_(y, alpha=0.5)
    g = torch.randn(4, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        g.add_(y, alpha=0.5)
    z = x.clone()
    z.add_(g, alpha=0.5)
    z.sum().backward()
    assert torch.equal(g.grad, torch.full((4, 4), 0.5))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.randn(4).add_(x, alpha=0.5)
    with pytest.raises(RuntimeError, match="alpha must not be a floating point"):
        torch.arange(4).add_(torch.arange(4), alpha=0.5)
    with torch.no_grad():
        g.add_(y, alpha=0.5)


ROW = torch.arange(10.0) ** 1.5
OF_TWO: dict[str, Callable[..., Any]] = {
    "outer": torch.outer,
    "dist": torch.dist,
    "mse_loss": F.mse_loss,
    "kron": torch.kron,
    "addr": lambda a, b: torch.addr(torch.zeros(4, 4), a, b),
    "inner": torch.inner,
    "cosine_similarity": lambda a, b: F.cosine_similarity(a, b, 0),
}


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.parametrize("first", [(ROW[:4], ROW[:4]), (ROW[:4], ROW[1:5])], ids=["one tensor", "views"])
def test_a_plan_made_of_operands_that_share_memory_holds_for_others(name: str, first: Any) -> None:
    one, other = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([5.0, -1.0, 2.0, 0.5])
    expected = OF_TWO[name](one.clone(), other.clone())
    for _ in range(4):
        OF_TWO[name](*first)
    for _ in range(3):
        torch.testing.assert_close(OF_TWO[name](one, other), expected)


# Of operands that lie differently, the first decides how the result of an op lies.
LAID_OUT: dict[str, Callable[..., Any]] = {
    "smooth_l1_loss": lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
    "mse_loss": lambda x, y: F.mse_loss(x, y, reduction="none"),
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
    "cosine_similarity": lambda x, y: F.cosine_similarity(x[None], y[None], 0),
    "batch_norm": lambda x, y: ROWS["_by_own_moments_backward"](
        x, y, y.mean(0, True), y.var(0, True), None, 1e-5, True, False, True
    )[0],
}


@pytest.mark.parametrize("name", LAID_OUT)
@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
def test_results_of_plans_lie_as_those_of_bodies(name: str, turned: tuple[bool, bool]) -> None:
    torch.manual_seed(0)
    x, y = (torch.rand(16, 16).T if each else torch.rand(16, 16) for each in turned)
    first, *later = [LAID_OUT[name](x, y) for _ in range(6)]
    for found in later:
        assert found.stride() == first.stride() and torch.equal(found, first)


def test_gradients_through_transposed_batch_norm_are_the_same_each_time() -> None:
    seen = []
    for _ in range(5):
        torch.manual_seed(0)
        x, y = (torch.randn(16, 16, requires_grad=True) for _ in range(2))
        a, b = (F.batch_norm(t, None, None, training=True) for t in (x, y))
        ((a.T @ b) * torch.linspace(0.1, 2, 256).view(16, 16)).sum().backward()
        seen.append((x.grad, y.grad))
    assert all(torch.equal(g, h) for pair in seen for g, h in zip(pair, seen[0], strict=True))
