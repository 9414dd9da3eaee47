"""Compiled calls whose graph is gone through twice, and whose results are the function's own tensors."""

from __future__ import annotations

import rushlight as torch


def test_a_second_pass_finds_what_the_first_one_found() -> None:
    weight = torch.nn.Parameter(torch.randn(64, 64) / 8)
    compiled = torch.compile(lambda x: (torch.sin(x @ weight).exp() * x).cos())
    for _ in range(8):
        x, v = torch.randn(64, 64, requires_grad=True), torch.randn(64, 64)
        result = compiled(x)
        first = [t.clone() for t in torch.autograd.grad(result, [x, weight], v, retain_graph=True)]
        second = torch.autograd.grad(result, [x, weight], v, retain_graph=True)
        third = torch.autograd.grad(result, [x, weight], v)
        assert all(
            torch.equal(a, b) and torch.equal(a, c) for a, b, c in zip(first, second, third, strict=True)
        )


def test_a_result_that_is_the_functions_own_tensor_is_that_tensor() -> None:
    held = torch.zeros(3)
    compiled = torch.compile(lambda x: (x + 1, held))
    for number in range(7):
        result = compiled(torch.zeros(3))[1]
        result.add_(1)
        assert result is held and held.tolist() == [number + 1.0] * 3
    parameter = torch.nn.Parameter(torch.randn(4, 6))
    compiled = torch.compile(lambda a: (a + 1, parameter))
    assert all(compiled(torch.randn(4, 6))[1] is parameter for _ in range(5))
