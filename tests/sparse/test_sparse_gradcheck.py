"""torch.sparse.as_sparse_gradcheck: of every layout, with and without the places that are not stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight.autograd.gradchecking import GradcheckError

D = torch.tensor([[0, 1.0], [2, 3]], dtype=torch.float64)
LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
FUNCTIONS: dict[str, Callable[[Any, bool], Any]] = {
    "dense": lambda x, masked: x.to_dense(masked_grad=masked),
    "product": lambda x, masked: x @ D,
    "twice": lambda x, masked: x * 2,
    "sum": lambda x, masked: x.sum(),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_layout(function: str, layout: str, masked: bool) -> None:
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    block = (1, 1) if layout in ("sparse_bsr", "sparse_bsc") else None
    x = D.to_sparse(layout=getattr(torch, layout), blocksize=block).requires_grad_(True)
    assert check(lambda x: FUNCTIONS[function](x, masked), x, masked=masked)


def test_a_wrong_gradient_is_told() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to_dense()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 3

    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    with pytest.raises(GradcheckError):
        check(Wrong.apply, D.to_sparse_coo().requires_grad_(True), masked=False)
