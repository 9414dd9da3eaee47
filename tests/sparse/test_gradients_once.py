"""Gradients of COO tensors whose values add up in a place: the place has its gradient once."""

import copy
import pickle

import pytest

import rushlight as torch


def uncoalesced():
    indices = torch.tensor([[0, 0, 1], [2, 2, 2]])
    return torch.sparse_coo_tensor(indices, torch.tensor([3.0, 4.0, 5.0]), (2, 3)).requires_grad_()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: (x * 3).to_dense().sum(), [3.0, 3.0]),
        (lambda x: (x.to_dense() ** 2).sum(), [14.0, 10.0]),
        (lambda x: (x * x).to_dense().sum(), [14.0, 10.0]),
        (lambda x: torch.sparse.sum(x), [1.0, 1.0]),
        (lambda x: torch.sparse.mm(x, torch.ones(3, 2)).sum(), [2.0, 2.0]),
        (lambda x: x.coalesce().values().sum(), [1.0, 1.0]),
    ],
)
def test_values_of_one_place_have_one_gradient(function, expected):
    x = uncoalesced()
    function(x).backward()
    assert x.grad.is_coalesced() and x.grad.indices().tolist() == [[0, 1], [2, 2]]
    assert x.grad.values().tolist() == expected
    function(x).backward()
    assert x.grad.values().tolist() == [2 * value for value in expected]
    (found,) = torch.autograd.grad(function(x), x)
    assert found.values().tolist() == expected


def test_sparse_gradients_are_added_in_pytorchs_order():
    class Given(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, grad):
            ctx.save_for_backward(grad)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[0], None

    one = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,))
    two = torch.sparse_coo_tensor([[1, 2]], [3.0, 4.0], (3,))
    x = torch.ones(3, requires_grad=True)
    (Given.apply(x, one) + Given.apply(x, two)).sum().backward()
    assert x.grad._indices().tolist() == [[0, 1, 2]] and not x.grad.is_coalesced()
    assert x.grad.to_dense().tolist() == [1.0, 3.0, 6.0]


def test_gather_gives_a_sparse_gradient_where_it_is_asked_for() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    index = torch.tensor([[0, 1], [2, 3], [1, 1]])
    torch.gather(x, 1, index, sparse_grad=True).sum().backward()
    assert x.grad.layout is torch.sparse_coo
    assert not x.grad.is_coalesced()
    assert x.grad._indices().tolist() == [[0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 1, 1]]
    dense = torch.autograd.grad(torch.gather(x, 1, index).sum(), x)[0]
    assert torch.equal(x.grad.to_dense(), dense)
    number = torch.randn((), requires_grad=True)
    torch.gather(number, 0, torch.tensor(0), sparse_grad=True).backward()
    assert number.grad.to_dense().item() == 1


def test_an_embeddings_gradient_keeps_the_memory_that_it_came_in_until_it_is_the_leafs() -> None:
    table = torch.nn.Embedding(5, 2, sparse=True)
    (table(torch.tensor([0, 2])).sum() + table(torch.tensor([1, 2])).sum()).backward()
    assert table.weight.grad._indices().tolist() == [[0, 2, 1, 2]]  # of repeated rows: one behind the other
    table.weight.grad = None
    table(torch.tensor([0, 2])).sum().backward()
    assert table.weight.grad._values().stride() == (2, 1)
    table.weight.grad = None
    for rows in ([0, 2], [1, 2]):
        (table(torch.tensor(rows)) * torch.ones(2, 2)).sum().backward()
    assert table.weight.grad._indices().tolist() == [[0, 1, 2]]


def test_a_gradient_that_is_assigned_keeps_its_places() -> None:
    s = torch.eye(3).to_sparse()
    s.grad = torch.ones(3, 3).to_sparse()
    assert s.grad._nnz() == 9 and s.grad is s.grad
    leaf = torch.eye(3).to_sparse().requires_grad_()
    leaf.grad = torch.ones(3, 3).to_sparse()
    (leaf * 2).to_dense().sum().backward()
    assert leaf.grad.to_dense().tolist() == [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 3.0]]
    assert leaf.grad is leaf.grad
    leaf.grad = None
    assert leaf.grad is None
    (leaf * 2).to_dense().sum().backward()
    (leaf * 3).to_dense().sum().backward()
    assert leaf.grad.values().tolist() == [5.0, 5.0, 5.0]


def test_copies_have_gradients_and_attributes() -> None:
    leaf = torch.eye(3).to_sparse().requires_grad_()
    leaf.note = ["kept"]
    (leaf * 2).to_dense().sum().backward()
    made, grad = copy.deepcopy([leaf, leaf.grad])
    assert made.grad is grad and grad is not leaf.grad and made.is_leaf and made.requires_grad
    assert grad.values().tolist() == [2.0, 2.0, 2.0]
    assert made.note == ["kept"] and made.note is not leaf.note
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)


def test_what_comes_is_added_to_the_gradient_that_is_there() -> None:
    leaf = torch.eye(3).to_sparse().requires_grad_()
    leaf.grad = given = torch.ones(3, 3).to_sparse()
    (leaf * 2).to_dense().sum().backward()
    assert leaf.grad is given and given.to_dense().sum().item() == 15
    (leaf * leaf).to_dense().sum().backward(create_graph=True)
    assert leaf.grad is not given and leaf.grad.requires_grad and given.to_dense().sum().item() == 15
    del leaf.grad
    assert leaf.grad is None


def test_what_cannot_be_a_gradient() -> None:
    leaf = torch.eye(3).to_sparse().requires_grad_()
    for wrong, message in (
        (torch.eye(3).double().to_sparse(), "with dtype 'double'"),
        (leaf, "as its own grad"),
        (torch.eye(3), "data of a different type"),
        (torch.eye(3).to_sparse_csr(), "data of a different type"),
        (torch.eye(2).to_sparse(), "of size"),
    ):
        with pytest.raises(RuntimeError, match=message):
            leaf.grad = wrong
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        leaf.grad = "none"
    assert leaf.grad is None


def test_pickles_and_copies_have_attributes() -> None:
    s = torch.eye(3).to_sparse()
    s.note = ["kept"]
    s.grad = torch.ones(3, 3).to_sparse()
    for made in (pickle.loads(pickle.dumps(s)), copy.copy(s)):
        assert made.note == ["kept"] and made.grad is None and made.to_dense().equal(torch.eye(3))
