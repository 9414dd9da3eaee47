"""Batches of compressed matrices, tensors without values, and what is no conversion."""

from typing import Any

import pytest

import rushlight as torch

LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def of(layout, *size):
    blocks = {"blocksize": (1, 2)} if layout in LAYOUTS[2:] else {}
    return torch.ones(size).to_sparse(layout=layout, **blocks)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_number_multiplies_batches_of_every_layout(layout):
    x = of(layout, 2, 2, 4)
    for number in (2, torch.tensor(2.0)):
        for found in (x.mul(number), number * x, x.clone().mul_(number)):
            assert found.layout is layout
            assert torch.equal(found.to_dense(), torch.full((2, 2, 4), 2.0))


def test_sampled_addmm_of_batches():
    eye, a, b = torch.eye(5), torch.randn(2, 5, 3), torch.randn(2, 3, 5)
    for c in (eye, eye.expand(2, 5, 5), torch.zeros(2, 5, 5)):
        found = torch.sparse.sampled_addmm(c.to_sparse_csr(), a, b, alpha=0.5, beta=0.25)
        wanted = 0.5 * (a @ b) * (c != 0) + 0.25 * c
        torch.testing.assert_close(found.to_dense(), wanted)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_zeros_like_in_another_layout(layout):
    x = of(layout, 2, 4)
    for to in (*LAYOUTS, torch.sparse_coo):
        if to is not torch.sparse_coo and (to in LAYOUTS[2:]) != (layout in LAYOUTS[2:]):
            with pytest.raises(RuntimeError, match="blocksize"):
                torch.zeros_like(x, layout=to)
            continue
        found = torch.zeros_like(x, layout=to)
        assert found.layout is to and not found._nnz()
        assert torch.equal(found.to_dense(), torch.zeros(2, 4))
    if layout is not torch.sparse_csr:
        with pytest.raises(RuntimeError, match="empty_like with different sparse layout"):
            torch.empty_like(x, layout=torch.sparse_csr)
    assert torch.randn_like(x, layout=layout).layout is layout


def test_sparse_dims_are_not_changed():
    x = torch.eye(3).to_sparse(1)
    assert x.to_sparse(1).sparse_dim() == 1
    with pytest.raises(RuntimeError, match=r"sparse_dim argument !=self.sparse_dim\(\) is not supported"):
        x.to_sparse(2)
    with pytest.raises(RuntimeError, match="coo_to_sparse_csr: conversion from Sparse to SparseCsr"):
        x.to_sparse_csr()
    empty = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), (3, 4)).coalesce()
    assert empty.t().is_coalesced()


def test_a_sum_over_all_that_keeps_dims_is_rounded_once():
    torch.manual_seed(0)
    x = (torch.randn(40, 30) * 3).half()
    found = x.to_sparse().sum((0, 1), keepdim=True)
    assert found.shape == (1, 1) and torch.equal(found.to_dense(), x.sum((0, 1), keepdim=True))
    whole = torch.ones(2, 3, 4, dtype=torch.int32).to_sparse(2)
    for kept in (whole.sum((0, 1), keepdim=True), torch.zeros(2, 3).to_sparse().sum((0, 1), keepdim=True)):
        assert kept.shape[:2] == (1, 1)
    assert whole.sum((0, 1), keepdim=True).to_dense().tolist() == [[[6] * 4]]


@pytest.mark.parametrize("name", ["empty_like", "ones_like", "rand_like"])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_dense_tensor_has_no_sparse_likes_but_zeros(name: str, layout: Any) -> None:
    dense = torch.ones(2, 2)
    with pytest.raises(NotImplementedError, match="Could not run 'aten::empty_strided'"):
        getattr(torch, name)(dense, layout=layout)
    assert torch.zeros_like(dense, layout=layout).layout is layout
