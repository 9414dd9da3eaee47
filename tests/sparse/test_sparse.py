"""Sparse tensors: their laws are that every op agrees with the dense one."""

import copy
import io
import pickle

import pytest

import rushlight as torch
from rushlight import nn

PLACES, V = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), [3.0, 4.0, 5.0, -1.0]
TEXT = """tensor(indices=tensor([[0, 1, 1],
                       [2, 0, 2]]),
       values=tensor([2., 4., 5.]),
       size=(2, 3), nnz=3, layout=torch.sparse_coo)"""
ROWS = """tensor(crow_indices=tensor([0, 1, 3]),
       col_indices=tensor([2, 0, 2]),
       values=tensor([2., 4., 5.]), size=(2, 3), nnz=3,
       layout=torch.sparse_csr)"""


def coo(**options):
    return torch.sparse_coo_tensor(PLACES, V, (2, 3), **options)


def hybrid():
    return torch.sparse_coo_tensor(torch.tensor([[0, 2, 0]]), torch.arange(6.0).reshape(3, 2), (3, 2))


def equal(found, wanted):
    torch.testing.assert_close(found.to_dense(), wanted.to_dense())


def test_parts():
    s = coo()
    assert (s.shape, s.layout, s.is_sparse, s._nnz(), s.sparse_dim(), s.dense_dim()) == (
        (2, 3),
        torch.sparse_coo,
        True,
        4,
        2,
        0,
    )
    assert not s.is_coalesced() and s.coalesce().is_coalesced()
    assert s.coalesce().indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert s.coalesce().values().tolist() == [2, 4, 5]
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    with pytest.raises(RuntimeError, match="Strided"):
        torch.ones(2).indices()
    assert hybrid().coalesce().values().tolist() == [[4, 6], [2, 3]]


def test_printing():
    assert repr(coo().coalesce()) == TEXT
    assert repr(coo().to_sparse_csr()) == ROWS
    empty = torch.sparse_coo_tensor((2, 3))
    assert "indices=tensor([], size=(2, 0))" in repr(empty) and "nnz=0" in repr(empty)
    assert "dtype=torch.float64" in repr(coo(dtype=torch.float64))


@pytest.mark.parametrize("make", [coo, hybrid, lambda: coo().to_sparse_csr()])
def test_layouts_there_and_back(make):
    s = make()
    dense = s.to_dense()
    equal(dense.to_sparse(), dense)
    equal(dense.to_sparse_csr(), dense)
    equal(dense.to_sparse_csr().to_sparse(), dense)
    equal(dense.to_sparse(1), dense)
    equal(s * 2, dense * 2)
    equal(s / 4, dense / 4)
    equal(-s, -dense)
    equal(s + s, dense * 2)
    equal(s + -3 * s, dense * -2)
    equal(torch.ones(dense.shape) + s, dense + 1)
    equal(s * dense, dense * dense)
    equal(s * s, dense * dense)
    equal(s.abs().sqrt(), dense.abs().sqrt())
    equal(s.double(), dense.double())
    equal(s.t() if s.dense_dim() == 0 else s, dense.t() if s.dense_dim() == 0 else dense)
    equal(torch.sparse.sum(s), dense.sum())
    equal(torch.sparse.sum(s, 0), dense.sum(0))
    equal(torch.sparse.sum(s, 1), dense.sum(1))
    if s.layout is torch.sparse_csr:
        equal(s + dense, dense + dense)
    else:
        with pytest.raises(RuntimeError, match=r"add\(sparse, dense\)"):
            s + dense


@pytest.mark.parametrize("rows", [False, True])
def test_products(rows):
    s = coo().to_sparse_csr() if rows else coo()
    dense, right, vector = s.to_dense(), torch.arange(6.0).reshape(3, 2), torch.arange(3.0)
    equal(s @ right, dense @ right)
    equal(torch.mm(s, right), dense @ right)
    equal(torch.mv(s, vector), dense @ vector)
    equal(right.t() @ s.t(), right.t() @ dense.t())
    equal(torch.sparse.mm(s, s.t()), dense @ dense.t())
    equal(torch.sparse.addmm(torch.ones(2, 2), s, right, beta=2, alpha=3), 2 + 3 * (dense @ right))
    equal(torch.addmm(torch.ones(2, 2), s, right), 1 + dense @ right)
    assert torch.sparse.mm(s, s.t()).layout is s.layout
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        s @ torch.ones(2, 2)
    with pytest.raises(NotImplementedError, match="to_dense"):
        torch.exp(s)


def test_softmax_is_of_what_is_there():
    s = coo()
    dense = s.to_dense()
    wanted = dense.masked_fill(dense == 0, -torch.inf).softmax(1).nan_to_num()
    equal(torch.sparse.softmax(s, 1), wanted)
    equal(torch.sparse.log_softmax(s, 1).coalesce().values().exp(), torch.sparse.softmax(s, 1).values())
    equal(torch.sparse.softmax(hybrid(), 1), hybrid().coalesce().map(lambda v: v.softmax(1)))


def test_gradients():
    s = coo(requires_grad=True)
    right = torch.arange(6.0).reshape(3, 2).requires_grad_()
    (s @ right).sum().backward()
    assert right.grad.tolist() == s.to_dense().sum(0)[:, None].expand(3, 2).tolist()
    assert torch.equal(s.grad.to_dense(), torch.where(s.detach().to_dense() != 0, right.detach().sum(1), 0.0))
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x.to_sparse() * 3).to_dense().sum().backward()
    assert x.grad.tolist() == [[0, 3, 3], [3, 3, 3]]
    (found,) = torch.autograd.grad(torch.sparse.sum(s * s), [s])
    assert found.layout is torch.sparse_coo


def test_products_named_after_sparse_matrices_take_dense_ones():
    a, b = torch.arange(4.0).reshape(2, 2), torch.arange(6.0).reshape(2, 3).requires_grad_()
    for product in (torch.spmm, torch.dsmm, torch.sparse.mm):
        equal(product(a, b), a @ b)
        equal(product(a.to_sparse(), b), a @ b)
    equal(torch.sparse.addmm(b, a, b), b + a @ b)
    assert torch.hsmm(a.to_sparse(), b.detach()).is_sparse
    with pytest.raises(RuntimeError, match=r"Sparse \+ Strided @ Strided"):
        torch.sparse.addmm(a.to_sparse(), a, a)


def test_sampled_addmm_and_reductions_of_terms():
    s, a, b = coo().to_sparse_csr(), torch.ones(2, 4), torch.arange(12.0).reshape(4, 3)
    equal(
        torch.sparse.sampled_addmm(s, a, b, beta=2),
        torch.where(s.to_dense() != 0, a @ b + 2 * s.to_dense(), 0),
    )
    assert torch.sparse.mm(s, torch.tensor([[1.0], [2.0], [3.0]]), "amax").tolist() == [[6], [15]]


@pytest.mark.parametrize("how", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy, "saved"])
def test_copies(how):
    for s in (coo(), coo().coalesce(), coo().to_sparse_csr()):
        if how == "saved":
            file = io.BytesIO()
            torch.save({"s": s}, file)
            file.seek(0)
            again = torch.load(file)["s"]
        else:
            again = how(s)
        assert repr(again) == repr(s) and again.coalesced == s.coalesced


def test_mistakes():
    for call, text in (
        (lambda: torch.sparse_coo_tensor(PLACES, V[:2], (2, 3)), "same nnz"),
        (lambda: torch.sparse_coo_tensor(PLACES, V, (2,)), "len.size. == sparse_dim"),
        (lambda: torch.sparse_coo_tensor(PLACES, V, (1, 3), check_invariants=True), "inconsistent"),
        (lambda: coo().to_sparse_csr().coalesce(), "SparseCsr"),
        (lambda: coo().data_ptr(), "storage"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(TypeError, match="to_dense"):
        coo().numpy()


def trained(make, sparse):
    torch.manual_seed(0)
    table = nn.Embedding(6, 3, sparse=sparse, padding_idx=1)
    optimizer = make([table.weight])
    for step in range(4):
        optimizer.zero_grad()
        table(torch.tensor([[1, 2, 2], [5, step, 3]])).pow(2).sum().backward()
        assert table.weight.grad.is_sparse == sparse
        optimizer.step()
    return table.weight.detach()


@pytest.mark.parametrize(
    "make", [lambda p: torch.optim.SGD(p, lr=0.1), lambda p: torch.optim.Adagrad(p, lr=0.1)]
)
def test_a_sparse_gradient_trains_as_a_dense_one(make):
    torch.testing.assert_close(trained(make, True), trained(make, False))


def test_sparse_adam():
    # What Adam does to the rows that always have gradients; others it lets be.
    found = trained(lambda p: torch.optim.SparseAdam(p, lr=0.1), True)
    dense = trained(lambda p: torch.optim.Adam(p, lr=0.1), False)
    torch.testing.assert_close(found[[2, 5]], dense[[2, 5]])
    with pytest.raises(RuntimeError, match="SparseAdam"):
        trained(lambda p: torch.optim.Adam(p), True)
    with pytest.raises(RuntimeError, match="dense gradients"):
        trained(lambda p: torch.optim.SparseAdam(p), False)


def test_sparse_gradients_add_up():
    table = nn.Embedding(4, 2, sparse=True)
    (table(torch.tensor([1, 2])).sum() + table(torch.tensor([2, 3])).sum()).backward()
    assert table.weight.grad.to_dense().tolist() == [[0, 0], [1, 1], [2, 2], [1, 1]]
    table(torch.tensor([0, 1])).sum().backward()
    assert table.weight.grad.to_dense()[:2].tolist() == [[1, 1], [2, 2]]
    bag = nn.EmbeddingBag(4, 2, sparse=True, mode="sum")
    bag(torch.tensor([[1, 1]])).sum().backward()
    assert bag.weight.grad.coalesce().values().tolist() == [[2, 2]]


# --- compressed layouts -----------------------------------------------------------------------------

_D = [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 0.0], [0.0, 4.0, 0.0, 5.0], [6.0, 0.0, 0.0, 0.0]]
_LAYOUTS = {"csr": (), "csc": (), "bsr": ((2, 2),), "bsc": ((2, 1),)}


def _compressed(name: str, dense: torch.Tensor, **options: int) -> torch.Tensor:
    return getattr(dense, f"to_sparse_{name}")(*_LAYOUTS[name], **options)


def test_compressed_layouts_hold_what_pytorch_says() -> None:
    dense = torch.tensor(_D)
    csc, bsr, bsc = (_compressed(name, dense) for name in ("csc", "bsr", "bsc"))
    assert csc.ccol_indices().tolist() == [0, 2, 3, 5, 6] and csc.row_indices().tolist() == [0, 3, 2, 0, 1, 2]
    assert csc.values().tolist() == [1, 6, 4, 2, 3, 5] and not csc.is_sparse_csr and not csc.is_sparse
    assert bsr.crow_indices().tolist() == [0, 2, 4] and bsr.col_indices().tolist() == [0, 1, 0, 1]
    assert bsr.values().tolist() == [[[1, 0], [0, 0]], [[2, 0], [3, 0]], [[0, 4], [6, 0]], [[0, 5], [0, 0]]]
    assert bsc.ccol_indices().tolist() == [0, 2, 3, 4, 5] and bsc.row_indices().tolist() == [0, 1, 1, 0, 1]
    assert repr(csc) == (
        "tensor(ccol_indices=tensor([0, 2, 3, 5, 6]),\n"
        "       row_indices=tensor([0, 3, 2, 0, 1, 2]),\n"
        "       values=tensor([1., 6., 4., 2., 3., 5.]), size=(4, 4), nnz=6,\n"
        "       layout=torch.sparse_csc)"
    )
    assert not csc.to_sparse().is_coalesced()
    assert csc.to_sparse_coo()._indices().tolist() == [[0, 3, 2, 0, 1, 2], [0, 0, 1, 2, 2, 3]]
    for t, name, kind in (
        (csc, "crow_indices", "row compressed"),
        (bsr, "row_indices", "column compressed"),
        (bsc, "indices", "coordinate"),
        (dense.to_sparse(), "col_indices", "row compressed"),
    ):
        with pytest.raises(RuntimeError, match=f"{name} expected sparse {kind} tensor layout but got Sparse"):
            getattr(t, name)()


@pytest.mark.parametrize("name", _LAYOUTS)
def test_compressed_layouts_compute_as_dense_matrices(name: str) -> None:
    dense = torch.tensor(_D)
    s = _compressed(name, dense)
    assert s.layout is getattr(torch, f"sparse_{name}") and (s.sparse_dim(), s.dense_dim()) == (2, 0)
    for found, expected in (
        (s, dense),
        (s.t(), dense.t()),
        (s @ dense, dense @ dense),
        (dense @ s, dense @ dense),
        (s @ dense[0], dense @ dense[0]),
        (s @ s, dense @ dense),
        (s + s, dense + dense),
        (s * 2, dense * 2),
        (s * s, dense * dense),
        (-s, -dense),
        (torch.zeros_like(s), torch.zeros(4, 4)),
        (torch.addmm(dense, s, dense), dense + dense @ dense),
        (s.sum(), dense.sum()),
    ):
        assert torch.equal(found.to_dense(), expected), found
    assert (s + s).layout is (s * s).layout is (-s).layout is s.layout
    turned = {"csr": "csc", "csc": "csr", "bsr": "bsc", "bsc": "bsr"}[name]
    assert s.t().layout is getattr(torch, f"sparse_{turned}")
    for other in _LAYOUTS:
        if name.startswith("b") and other != name:  # blocks stay what they are
            with pytest.raises(
                RuntimeError, match="blocksize changed|expected SparseCsr or SparseCsc layout"
            ):
                _compressed(other, s)
        else:
            assert torch.equal(_compressed(other, s).to_dense() if other != name else s.to_dense(), dense)
    for again in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.clone(), s.detach()):
        assert again.layout is s.layout and torch.equal(again.to_dense(), dense)


@pytest.mark.parametrize("name", _LAYOUTS)
def test_compressed_layouts_have_dense_dims_and_gradients(name: str) -> None:
    hybrid = torch.tensor([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 3.0]]])
    s = _compressed(name, hybrid, dense_dim=1)
    assert s.dense_dim() == 1 and s.shape == (2, 2, 2) and torch.equal(s.to_dense(), hybrid)
    x = torch.tensor(_D, requires_grad=True)
    _compressed(name, x).to_dense().square().sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_compressed_tensors_are_made_of_their_parts() -> None:
    made = torch.sparse_csc_tensor([0, 2, 4], [0, 1, 0, 1], [1.0, 2, 3, 4], (3, 2), dtype=torch.float64)
    assert made.to_dense().tolist() == [[1, 3], [2, 4], [0, 0]] and made.dtype is torch.float64
    blocks = torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert blocks.to_dense().tolist() == [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 5, 6], [0, 0, 7, 8]]
    assert torch.sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1, 2]], [[5, 6]]]).shape == (2, 4)
    assert torch.sparse_csr_tensor([0, 1, 2], [0, 1], [[1.0], [2.0]]).shape == (2, 2, 1)
    named = torch.sparse_csr_tensor(
        crow_indices=[0, 1, 2], col_indices=[0, 1], values=[1.0, 2.0], size=(2, 3)
    )
    assert named.to_dense().tolist() == [[1, 0, 0], [0, 2, 0]]
    same = torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csc)
    assert same.layout is torch.sparse_csc
    for message, call in (
        (
            "expected sparse compressed tensor layout but got none",
            lambda: torch.sparse_compressed_tensor([0, 1], [0], [1.0]),
        ),
        (
            r"sum of batch and block dimensionalities \(=0 \+ 2\) but got 1",
            lambda: torch.sparse_bsr_tensor([0, 2], [0, 1], [1, 2]),
        ),
        (r"must be divisible by given blocksize \(3,2\)", lambda: torch.ones(4, 4).to_sparse_bsr((3, 2))),
        (
            "blocksize needs to be a tuple of size 2, but got 3",
            lambda: torch.ones(4, 4).to_sparse_bsr((2, 2, 2)),
        ),
        ("blocksize needs to be positive", lambda: torch.ones(4, 4).to_sparse_bsr((0, 2))),
        (
            "from Strided to SparseCsr with blocksize argument given is not supported",
            lambda: torch.ones(4, 4).to_sparse(layout=torch.sparse_csr, blocksize=(2, 2)),
        ),
        (
            "from SparseCsr to SparseBsc without blocksize argument given is not supported",
            lambda: torch.ones(4, 4).to_sparse_csr().to_sparse(layout=torch.sparse_bsc),
        ),
        (
            "the same number of specified elements per batch",
            lambda: torch.stack([torch.eye(2), torch.zeros(2, 2)]).to_sparse_csc(),
        ),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_spdiags() -> None:
    rows = torch.arange(9).reshape(3, 3)
    s = torch.sparse.spdiags(rows, torch.tensor([0, -1, -2]), (3, 3))
    assert s._indices().tolist() == [[0, 1, 2, 1, 2, 2], [0, 1, 2, 0, 1, 0]]
    assert s._values().tolist() == [0, 1, 2, 3, 4, 6]
    csc = torch.sparse.spdiags(rows, torch.tensor([0, -1, -2]), (3, 3), layout=torch.sparse_csc)
    assert csc.layout is torch.sparse_csc and csc.to_dense().tolist() == [[0, 0, 0], [3, 1, 0], [6, 4, 2]]
    assert torch.sparse.spdiags(rows[0], torch.tensor(-1), (2, 3)).to_dense().tolist() == [[0] * 3] * 2
    for message, offsets, shape in (
        ("duplicate values", [0, -1, -1], (3, 3)),
        ("must be 2d", [0, 1, 2], (3,)),
        (r"diagonals \(3\) does not match the number of offsets", [0, 1], (3, 3)),
        ("dtype Long but got Float", [0.0, 1.0, 2.0], (3, 3)),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.sparse.spdiags(rows, torch.tensor(offsets), shape)


def test_reduced_products_take_the_older_names() -> None:
    dense = torch.tensor(_D)
    for name, other in (("max", "amax"), ("min", "amin")):
        assert torch.equal(
            torch.sparse.mm(dense.to_sparse_csr(), dense, name),
            torch.sparse.mm(dense.to_sparse_csr(), dense, other),
        )


@pytest.mark.parametrize(
    "source", ["to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "to_sparse"]
)
@pytest.mark.parametrize("target", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_gradients_of_conversions_between_layouts(source, target):
    def of(t, name):
        return getattr(t, name)(*[2] * name.startswith("to_sparse_bs"))

    if source.startswith("to_sparse_bs") and target != "to_sparse":
        pytest.skip("PyTorch turns blocks into COO and other blocks alone")
    x = of(torch.arange(1.0, 17, dtype=torch.float64).reshape(4, 4), source).requires_grad_()
    grad = torch.arange(16.0, 0, -1, dtype=torch.float64).reshape(4, 4)
    (found,) = torch.autograd.grad(of(x, target), x, of(grad, target))
    assert found.layout == x.layout and torch.equal(found.to_dense(), grad)


def test_dense_gradients_are_added_to_sparse_ones():
    p = torch.tensor([1.5, 1.5], requires_grad=True)
    p.grad = torch.tensor([0.0, 2.0]).to_sparse()
    p.backward(torch.tensor([1.0, 1.0]))
    assert p.grad.tolist() == [1, 3]


def test_resized_values_lie_as_in_memory() -> None:
    x = torch.sparse_coo_tensor([[0, 2]], torch.arange(6.0).view(2, 3), (3, 3))
    y = torch.sparse_coo_tensor([[0]], torch.ones(1, 5), (4, 5))
    assert x.resize_as_(y) is x and x.shape == (4, 5) and x._nnz() == 2
    assert x.to_dense()[0].tolist() == [0, 1, 2, 3, 4] and x.to_dense()[2, 0] == 5
    for size, kind in (((4, 4), "shrinking the size of dense"), ((3, 5), "shrinking the size of sparse")):
        with pytest.raises(RuntimeError, match=kind):
            x.sparse_resize_(size, 1, 1)
    with pytest.raises(RuntimeError, match="changing the number of dense dimensions"):
        x.sparse_resize_((4, 5, 5), 1, 2)
    rows = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr().resize_(3, 4)
    assert rows.to_dense().tolist() == [[1, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0]]


def test_other_names_of_ops_and_refusals() -> None:
    s = torch.tensor([[0.0, -1.5], [0.5, 0.0]]).to_sparse()
    for name in "negative absolute arctan arcsinh fix".split():
        expected = getattr(torch, name)(s.to_dense())
        assert torch.equal(getattr(torch, name)(s).to_dense(), expected)
        assert torch.equal(getattr(s.clone(), f"{name}_")().to_dense(), expected)
    with pytest.raises(RuntimeError, match="only supported by strided tensors"):
        torch.zeros_like(s, memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="2, 0, but tensor at position 1 has 1, 1"):
        torch.cat([s, torch.sparse_coo_tensor([[0]], torch.ones(1, 2), (2, 2))])
    with pytest.raises(RuntimeError, match="two sparse tensors"):
        torch.sparse.mm(s.to_dense().expand(2, 2, 2).to_sparse(), s.to_dense().expand(2, 2, 2).to_sparse())


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_of_values_that_share_a_place(fast_mode: bool) -> None:
    values = torch.arange(6.0, dtype=torch.float64).view(3, 2)
    x = torch.sparse_coo_tensor([[0, 0, 1]], values, (3, 2)).requires_grad_()
    assert torch.autograd.gradcheck(torch.Tensor.to_dense, x, masked=True, fast_mode=fast_mode)
    pair = torch.eye(3, dtype=torch.float64).to_sparse_csr().requires_grad_(), x.to_dense().detach()
    assert torch.autograd.gradcheck(
        torch.sparse.mm, (pair[0], pair[1].requires_grad_()), masked=True, fast_mode=fast_mode
    )


def test_the_one_element():
    place = torch.tensor([[0, 0]])
    for made, number in (
        (torch.tensor([2]).to_sparse(), 2),
        (torch.tensor([0.0]).to_sparse(), 0.0),
        (torch.sparse_coo_tensor(place, torch.tensor([1.0, -1.0]), (1,)), 0.0),
        (torch.sparse_coo_tensor(place, torch.tensor([1.0, 2.0]), (1,)), 3.0),
    ):
        assert made.item() == number and bool(made) == made.is_nonzero() == bool(number)
    with pytest.raises(RuntimeError):
        torch.ones(2).to_sparse().item()


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_bsr])
def test_layouts_that_spdiags_has_not(layout):
    with pytest.raises(RuntimeError, match="Only output layouts"):
        torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]), (3, 3), layout=layout)


def test_a_sum_is_in_the_order_of_places_where_both_are() -> None:
    def of(places, values):
        return torch.sparse_coo_tensor([places], values, (5,))

    for a, b, places, values in (
        (of([0, 2], [1.0, 2.0]), of([1, 2], [3.0, 4.0]), [0, 1, 2], [1.0, 3.0, 6.0]),
        (of([0, 0, 2], [1.0, 2.0, 3.0]), of([0, 2], [5.0, 6.0]), [0, 0, 2], [6.0, 2.0, 9.0]),
    ):
        found = a + b
        assert found._indices().tolist() == [places] and found._values().tolist() == values
        assert not found.is_coalesced()
    wide = torch.ones(2, 1).expand(2, 2)  # values with gaps stand one behind the other
    a = torch.sparse_coo_tensor([[0, 2]], wide, (5, 2))
    assert (a + a)._indices().tolist() == [[0, 2, 0, 2]]


def test_arithmetic_by_its_longer_names():
    held = torch.eye(2).to_sparse()
    for name, other in (("true_divide", 2), ("divide", 2), ("multiply", 2), ("subtract", held)):
        dense = getattr(torch, name)(torch.eye(2), other.to_dense() if other is held else other)
        assert getattr(torch, name)(held, other).to_dense().equal(dense)


def test_the_callers_values_are_not_the_leaf() -> None:
    """A sparse tensor that requires grad leaves the values that it was made of as they are."""
    indices, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4, 5])
    made = torch.sparse_coo_tensor(indices, values, (2, 4)).requires_grad_()
    rows = torch.sparse_csr_tensor(torch.tensor([0, 1, 3]), indices[1], values, (2, 4)).requires_grad_()
    assert made.is_leaf and rows.is_leaf and not values.requires_grad
    values[0] = 9  # the memory is shared
    assert made._values()[0] == rows.values()[0] == 9
    tracked = values.clone().requires_grad_()
    made = torch.sparse_coo_tensor(indices, tracked, (2, 4))
    assert made.requires_grad and not made.is_leaf
    torch.sparse.mm(made, torch.ones(4, 2)).sum().backward()
    assert tracked.grad is not None and tracked.grad.tolist() == [2, 2, 2]
    with torch.no_grad():
        assert not torch.sparse_coo_tensor(indices, tracked, (2, 4)).requires_grad


def test_sums_over_all_sparse_dims_are_dense() -> None:
    made = torch.tensor([[0.0, 1, 0], [2, 0, 3]]).to_sparse()
    for dims in ((0, 1), (-1, 0)):
        found = made.sum(dims, True)
        assert found.layout is torch.strided and found.tolist() == [[6]]
    hybrid = torch.arange(12.0).reshape(2, 3, 2).to_sparse(2)
    assert hybrid.sum((0, 1), True).tolist() == [[[30, 36]]]
    assert hybrid.sum((0, 2), True).is_sparse and made.sum([]).is_sparse
    for wrong in (2, -3):
        with pytest.raises(IndexError, match="out of range"):
            made.sum(wrong)
    with pytest.raises(RuntimeError, match="multiple times"):
        made.sum((0, 0))


@pytest.mark.parametrize("keepdim", [False, True])
def test_a_masked_reduction_to_one_number_leaves_a_zero_out(keepdim) -> None:
    dense = torch.tensor([[3.0, 0.0], [0.0, 2.0]])
    mask = torch.tensor([[True, True], [False, True]])
    found = torch.masked.amin(dense.to_sparse(), (0, 1), keepdim=keepdim, mask=mask.to_sparse())
    assert not found._nnz()
    assert torch.masked.amax(dense.to_sparse(), keepdim=keepdim, mask=mask.to_sparse()).to_dense().item() == 3


def test_sums_are_of_the_results_dtype():
    a = torch.tensor([0, 1, 2])
    byte = a.to(torch.uint8).to_sparse()
    for left in (a.to(torch.int16).to_sparse(), a.float()):
        found = left.sub(byte, alpha=2)
        assert torch.equal(found.to_dense() if found.is_sparse else found, -a.to(found.dtype))
    with pytest.raises(RuntimeError, match="Can't convert result type Double to output Int in add operation"):
        a.int().to_sparse().add_(a.double().to_sparse())
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        a.to_sparse() - a.bool().to_sparse()
    with pytest.raises(RuntimeError, match="does not currently support broadcasting"):
        torch.ones(2, 3) + a.float().to_sparse()


def test_masks_and_values_are_as_they_stand():
    twice = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [0, 1, 1]]), torch.ones(3), (3, 2))
    whole = torch.arange(1.0, 7).reshape(3, 2).to_sparse()
    found = whole.sparse_mask(twice)
    assert not found.is_coalesced() and found._values().tolist() == [1, 4, 4]
    leaf = whole.detach().requires_grad_()
    assert leaf.values().requires_grad and not leaf._values().requires_grad
