"""Pointers of rows and coordinates turned into each other; recorded from PyTorch."""

from __future__ import annotations

import rushlight as torch


def test_pointers_and_coordinates() -> None:
    rows, columns = torch.tensor([0, 0, 2, 3]), torch.tensor([1, 2, 0, 3])
    pointers = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert (pointers.tolist(), pointers.dtype) == ([0, 2, 2, 3, 4, 4], torch.int64)
    assert torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype == torch.int32
    found = torch._convert_indices_from_csr_to_coo(pointers, columns)
    assert found.tolist() == [[0, 0, 2, 3], [1, 2, 0, 3]]
    turned = torch._convert_indices_from_csr_to_coo(pointers, columns, out_int32=True, transpose=True)
    assert (turned.tolist(), turned.dtype) == ([[1, 2, 0, 3], [0, 0, 2, 3]], torch.int32)
    batch = torch._convert_indices_from_csr_to_coo(
        torch.tensor([[0, 1, 2], [0, 2, 2]]), torch.tensor([[0, 1], [0, 1]])
    )
    assert batch.tolist() == [[0, 0, 1, 1], [0, 1, 0, 0], [0, 1, 0, 1]]


def test_a_linear_layer_of_a_sparse_input() -> None:
    x, w, b = torch.eye(3).to_sparse(), torch.ones(2, 3), torch.ones(2)
    for given in (x, x.to_sparse_csr()):
        assert torch.nn.functional.linear(given, w, b).tolist() == [[2.0, 2.0]] * 3
        assert torch.nn.functional.linear(given, w).tolist() == [[1.0, 1.0]] * 3
