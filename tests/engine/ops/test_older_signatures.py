"""Numbers as positional arguments before tensors, as PyTorch took them before it had keywords."""

import warnings

import pytest

import rushlight as torch

X, A, B, V = torch.full((2, 2), 2.0), torch.full((2, 2), 3.0), torch.full((2, 2), 4.0), torch.full((2,), 5.0)
CUBE = torch.full((2, 2, 2), 3.0)
CASES = {
    "add": (lambda: torch.add(X, 10, A), X + 10 * A),
    "sub": (lambda: X.sub(10, A), X - 10 * A),
    "add_": (lambda: X.clone().add_(-0.1, A), X - 0.1 * A),
    "addcdiv": (lambda: X.addcdiv(0.5, A, B), X + 0.5 * A / B),
    "addcmul_": (lambda: X.clone().addcmul_(0.5, A, B), X + 0.5 * A * B),
    "addmm, both": (lambda: torch.addmm(2, X, 3, A, B), 2 * X + 3 * A @ B),
    "addmm, beta": (lambda: torch.addmm(2, X, A, B), 2 * X + A @ B),
    "addmm, method": (lambda: X.addmm(2, 3, A, B), 2 * X + 3 * A @ B),
    "addmm_": (lambda: X.clone().addmm_(2, A, B), 2 * X + A @ B),
    "addmv": (lambda: torch.addmv(2, V, 3, A, V), 2 * V + 3 * A @ V),
    "addr_": (lambda: X.clone().addr_(2, 3, V, V), 2 * X + 3 * torch.outer(V, V)),
    "baddbmm": (lambda: CUBE.baddbmm(2, 3, CUBE, CUBE), 2 * CUBE + 3 * CUBE @ CUBE),
    "addbmm": (lambda: X.addbmm(2, CUBE, CUBE), 2 * X + (CUBE @ CUBE).sum(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    call, expected = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.allclose(call(), expected)


def test_out_and_gradients():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = torch.empty(2, 2)
        assert torch.add(X, 10, A, out=out) is out and torch.equal(out, X + 10 * A)
        x = X.clone().requires_grad_()
        x.addcmul(0.5, A, B).sum().backward()
        assert torch.equal(x.grad, torch.ones(2, 2))


def test_refusals():
    for call in (lambda: torch.add(X, A, A), lambda: torch.mul(X, 2, A), lambda: X.add_(1, 2, A)):
        with pytest.raises(TypeError):
            call()
