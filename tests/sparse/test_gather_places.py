"""Sparse gradients of gather where the input, or the index, has no dims."""

import pytest

import rushlight as torch


@pytest.mark.parametrize(("size", "index"), [((), [0, 0]), ((), 0), ((3,), 1), ((3,), [1, 1])])
def test_sparse_gradients_are_the_dense_ones(size, index):
    found = []
    for sparse in (False, True):
        x = torch.ones(size, requires_grad=True)
        torch.gather(x, 0, torch.tensor(index), sparse_grad=sparse).sum().backward()
        assert x.grad.is_sparse is sparse
        found.append(x.grad.to_dense())
    assert torch.equal(*found)
