"""Batches, blocks and dense dims of sparse tensors: what they hold, and that they are what was turned into them."""

import io

import pytest

import rushlight as torch

D = torch.tensor([[[0.0, 1, 0, 2], [0, 0, 3, 0]], [[4.0, 0, 0, 5], [0, 6, 0, 0]]])
LAYOUTS = [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def compressed(t, layout, **options):
    blocks = {"blocksize": (1, 2)} if layout in LAYOUTS[2:] else {}
    return t.to_sparse(layout=layout, **blocks, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_is_held_matrix_by_matrix(layout):
    dense = torch.stack([D[0], D[0].flip(0)]) if layout in LAYOUTS[2:] else D
    s = compressed(dense, layout)
    assert (s.shape, s.sparse_dim(), s.dense_dim(), s.layout) == (dense.shape, 2, 0, layout)
    assert torch.equal(s.to_dense(), dense)
    assert torch.equal(s.select(0, 1).to_dense(), dense[1])
    assert torch.equal(s.to_sparse().to_dense(), dense)
    assert torch.equal(s.transpose(1, 2).to_dense(), dense.transpose(1, 2))
    other = compressed(s, {0: LAYOUTS[1], 1: LAYOUTS[0], 2: LAYOUTS[3], 3: LAYOUTS[2]}[LAYOUTS.index(layout)])
    assert other.layout is not layout and torch.equal(other.to_dense(), dense)


def test_parts_of_a_batch():
    s = D.to_sparse_csr()
    assert s.crow_indices().tolist() == [[0, 2, 3], [0, 2, 3]]
    assert s.col_indices().tolist() == [[1, 3, 2], [0, 3, 1]]
    assert s.values().tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_may_have_dims_of_their_own(layout):
    dense = torch.stack([D[0], -D[0]], -1)
    s = compressed(dense, layout, dense_dim=1)
    assert (s.sparse_dim(), s.dense_dim()) == (2, 1) and torch.equal(s.to_dense(), dense)
    assert torch.equal(s.to_sparse().to_dense(), dense)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: D.to_sparse_csr().to_sparse_bsr((1, 1)),
            "SparseCsr to SparseBsr for batched inputs is not supported",
        ),
        (
            lambda: D[0].to_sparse_bsr((1, 2)).to_sparse_csr(),
            "expected SparseCsr or SparseCsc layout but got SparseBsr",
        ),
        (lambda: D.to_sparse().to_sparse_csr(), r"with sparse_dim\(\)!=2 is not supported"),
        (lambda: D[0].to_sparse(3), r"sparse_dim argument must be in \[0,2\] range, but 3 is given"),
        (lambda: torch.ones(4, 4, layout=torch.sparse_coo), "is not implemented for sparse layout"),
        (lambda: torch.zeros(3, layout=torch.sparse_csr), "Only batched sparse compressed"),
    ],
)
def test_conversions_that_there_are_not(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_results_are_written_where_they_are_to_be():
    s, out = D.to_sparse(), torch.sparse_coo_tensor(D.shape)
    assert torch.sin(s, out=out) is out and torch.equal(out.to_dense(), D.sin())
    assert s.sqrt_() is s and torch.equal(s.to_dense(), D.sqrt())
    doubled = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (1,))
    with pytest.raises(RuntimeError, match="sqrt_ requires coalesced input"):
        doubled.sqrt_()
    whole = torch.tensor([1, 2]).to_sparse()
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        whole.sin_()


def test_shapes_of_sparse_tensors():
    s = D.to_sparse()
    assert torch.equal(torch.cat([s, s], 1).to_dense(), torch.cat([D, D], 1))
    assert torch.equal(s.permute(2, 0, 1).to_dense(), D.permute(2, 0, 1))
    assert torch.equal(s.unsqueeze(1).to_dense(), D.unsqueeze(1))
    assert torch.equal(s.index_select(2, torch.tensor([3, 1, 1])).to_dense(), D[:, :, [3, 1, 1]])
    assert torch.equal(s[1].to_dense(), D[1]) and s[0, 1, 2].item() == 3
    assert [part.to_dense().tolist() for part in s] == D.tolist()
    assert torch.equal(torch.bmm(s, D.mT).to_dense(), torch.bmm(D, D.mT))
    assert torch.equal(s.sum(0, keepdim=True).to_dense(), D.sum(0, keepdim=True))


def test_zeros_of_a_layout():
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        s = torch.zeros(2, 3, layout=layout)
        assert s.layout is layout and s._nnz() == 0 and torch.equal(s.to_dense(), torch.zeros(2, 3))


def test_compressed_parts_are_checked():
    with torch.sparse.check_sparse_tensor_invariants():
        with pytest.raises(RuntimeError, match=r"`0 <= col_indices < ncols` is not satisfied."):
            torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2))
        with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 3"):
            torch.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,))
        with pytest.raises(RuntimeError, match="are sorted and distinct along the last dimension"):
            torch.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2))


def test_masked_reductions_of_sparse_tensors():
    s = torch.tensor([[0.0, 1, 2], [0, 0, 0]]).to_sparse()
    assert torch.masked.sum(s, 0).to_dense().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="expects explicit mask"):
        torch.masked.amax(s, 1)


@pytest.mark.parametrize("archive", [True, False])
def test_what_is_loaded_is_checked_where_makers_check(archive):
    wrong = torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2))
    file = io.BytesIO()
    torch.save({"a": wrong, "b": torch.eye(2).to_sparse()}, file, _use_new_zipfile_serialization=archive)
    file.seek(0)
    assert torch.load(file)["a"].col_indices().tolist() == [0, 5]
    file.seek(0)
    with (
        torch.sparse.check_sparse_tensor_invariants(),
        pytest.raises(RuntimeError, match="0 <= col_indices < ncols"),
    ):
        torch.load(file)


def test_makers_and_checks_with_an_underscore() -> None:
    made = torch.ops.aten._sparse_compressed_tensor_with_dims(
        3, 1, (2, 4, 6, 5), (2, 2), torch.int64, dtype=torch.float32, layout=torch.sparse_bsc
    )
    assert made.ccol_indices().shape == (2, 4) and made.values().shape == (2, 3, 2, 2, 5)
    torch._validate_compressed_sparse_indices(True, torch.tensor([0, 1]), torch.tensor([0]), 1, 1, 1)
    with pytest.raises(RuntimeError, match="== nnz` is not satisfied"):
        torch._validate_compressed_sparse_indices(True, torch.tensor([0, 2]), torch.tensor([0]), 1, 2, 1)


def test_fewer_rows_keep_the_values_that_come_first() -> None:
    a = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).to_sparse_csr()
    a.resize_(4, 5)
    assert a.crow_indices().tolist() == [0, 3, 6, 6, 6]
    a.resize_(1, 5)
    assert a.crow_indices().tolist() == [0, 5] and a.values().tolist() == [1, 2, 3, 4, 5]


def test_rows_of_blocks_and_sums_of_two_shapes() -> None:
    row = torch.select_copy(torch.eye(4).to_sparse_bsr((2, 2)), 0, 1)
    assert row.is_coalesced() and row.values().tolist() == [0, 1]
    assert torch.zeros(2, 3, 0).to_sparse_csr().to_dense().shape == (2, 3, 0)
    with pytest.raises(RuntimeError, match="Expected input tensors to have the same shape"):
        torch.ones(2, 2).to_sparse_csr() + torch.ones(2, 1).to_sparse_csr()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stack_has_a_new_dim(dim):
    dense = [torch.tensor([[0.0, 1], [2, 0]], requires_grad=True), torch.tensor([[3.0, 0], [0, 0]])]
    found = torch.stack([t.to_sparse() for t in dense], dim)
    assert found.layout is torch.sparse_coo and found.to_dense().equal(torch.stack(dense, dim))
    found.to_dense().sum().backward()
    assert dense[0].grad is not None
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([dense[0].to_sparse(), torch.zeros(2, 3).to_sparse()])


def test_arguments_by_numpys_names():
    s = D.to_sparse()
    assert torch.sum(s, axis=0).to_dense().equal(D.sum(0))
    assert torch.cat([s, s], axis=1).to_dense().equal(torch.cat([D, D], 1))
