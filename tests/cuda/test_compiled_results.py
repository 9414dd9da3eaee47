"""What a compiled call on a device hands out: gradients again and again, and results that share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
BOTH = [("simulated:1GB",), ("simulated:1GB,check",), ("driver", 1)]
pytestmark = pytest.mark.parametrize("devices", BOTH, indirect=True, ids=["simulated", "check", "driver"])

FORWARDS: dict[str, Callable[[Any, Any], Any]] = {
    "chain": lambda x, w: (torch.sin(x @ w).exp() * x).cos(),
    "row kernels": lambda x, w: torch.softmax(torch.nn.functional.layer_norm(x @ w, (16,)), -1).relu() * x,
    "in place": lambda x, w: (torch.nn.functional.relu(x @ w, inplace=True) + 1).exp(),
}


@pytest.mark.parametrize("name", FORWARDS)
def test_a_second_pass_finds_what_the_first_one_found(name: str) -> None:
    weight = torch.nn.Parameter((torch.randn(16, 16) / 4).cuda())
    compiled = torch.compile(lambda x: FORWARDS[name](x, weight))
    for _ in range(6):
        x, v = torch.randn(16, 16).cuda().requires_grad_(), torch.randn(16, 16).cuda()
        result = compiled(x)
        first = torch.autograd.grad(result, [x, weight], v, retain_graph=True)
        twice = torch.autograd.grad(result, [x, weight], 2 * v, retain_graph=True)
        again = torch.autograd.grad(result, [x, weight], v)
        for a, b, c in zip(first, twice, again, strict=True):
            assert torch.equal(a, c)
            torch.testing.assert_close(2 * a, b)
        with pytest.raises(RuntimeError, match="a second time"):
            torch.autograd.grad(result, [x, weight], v)


def relations(results: Any, others: Any) -> list[Any]:
    """Geometry of results, and which of them, and of other tensors, are one another or share memory."""

    def memory(t: Any) -> int:
        found: int = t.untyped_storage().data_ptr()
        return found

    return [
        (
            a.shape,
            a.stride(),
            a.requires_grad,
            a.storage_offset(),
            a.untyped_storage().nbytes(),
            [(a is b, memory(a) == memory(b)) for b in (*results, *others)],
        )
        for a in results
    ]


RESULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an argument": lambda x, b, w: (x + 1, x),
    "a view of an argument": lambda x, b, w: (x + 1, x.view(-1)),
    "one tensor twice": lambda x, b, w: [x * 2] * 2,
    "views": lambda x, b, w: (lambda h: (h, h.view(-1), h.t()))(x * 2),
    "the function's own": lambda x, b, w: (x + 1, b, b[1], w),
    "a view of a parameter": lambda x, b, w: (x @ w, w.view(-1)),
    "gaps": lambda x, b, w: ((x * 2).t(), (x * 3)[:, ::2], (x * 4).expand(2, 3, 4), (x @ x.t()).diagonal()),
    "tracked, twice": lambda x, b, w: [x @ w] * 2,
    "tracked, and a view": lambda x, b, w: (lambda h: (h, h.view(-1)))(x @ w),
    "tracked, and detached": lambda x, b, w: (lambda h: (h, h.detach()))(x @ w),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_share_memory_as_eager_ones_do(name: str) -> None:
    buffer, weight = torch.arange(12.0).reshape(3, 4).cuda(), torch.nn.Parameter(torch.randn(4, 4).cuda())
    compiled = torch.compile(lambda x: RESULTS[name](x, buffer, weight))
    held = []
    for number in range(6):
        x = torch.full((3, 4), float(number)).cuda()
        wanted, found = RESULTS[name](x, buffer, weight), compiled(x)
        others = (x, buffer, weight)
        assert relations(found, others) == relations(wanted, others)
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
        held.append((found, [t.detach().clone() for t in found]))
    for found, before in held:  # later calls have changed nothing
        assert all(torch.equal(a, b) for a, b in zip(found, before, strict=True))


def test_gradients_reach_a_parameter_by_a_view_that_is_a_result() -> None:
    weight = torch.nn.Parameter(torch.randn(4, 4).cuda())
    compiled = torch.compile(lambda x: (x @ weight, weight.view(-1)))
    for _ in range(5):
        product, flat = compiled(torch.ones(2, 4, device="cuda"))
        (found,) = torch.autograd.grad(product.sum() + (2 * flat).sum(), [weight])
        assert torch.equal(found.cpu(), torch.full((4, 4), 4.0))
