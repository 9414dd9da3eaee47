"""Sums of compressed layouts and dense tensors, and what a transposed one is a view of, as PyTorch has them."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

_D = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
_MAKE: list[Any] = [torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc]


@pytest.mark.parametrize("make", _MAKE)
def test_alpha_is_the_sparse_operands_whichever_stands_first(make: Any) -> None:
    x, y = make(_D), torch.full((2, 3), 10.0)
    wanted = [[12.0, 10.0, 14.0], [10.0, 16.0, 10.0]]
    for found in (
        torch.add(y, x, alpha=2),
        torch.add(x, y, alpha=2),
        x.add(y, alpha=2),
        y.clone().add_(x, alpha=2),
    ):
        assert found.layout is torch.strided and found.tolist() == wanted
    with pytest.raises(RuntimeError, match="tensors do not have is_contiguous"):
        x.add_(y)


@pytest.mark.parametrize("make", _MAKE)
def test_compressed_layouts_are_not_subtracted(make: Any) -> None:
    x = make(_D)
    for run in (lambda: x - x, lambda: x - _D, lambda: _D - x, lambda: x.sub_(x), lambda: _D.clone().sub_(x)):
        with pytest.raises(RuntimeError, match="unsupported tensor layout: SparseCs[rc]"):
            run()


def test_a_transposed_tensor_is_a_view() -> None:
    for x in (_D.to_sparse(), _D.to_sparse_csr(), _D.to_sparse_csc(), torch.eye(4).to_sparse_bsr((2, 2))):
        turned: Any = x.transpose(0, 1)
        assert turned._is_view() and turned._base is x and not x._is_view()
        assert turned.transpose(0, 1)._base is x
        assert turned.to_dense().equal(x.to_dense().T)
