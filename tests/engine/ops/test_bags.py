"""torch.embedding_bag: its four results and its refusals, as PyTorch gives them."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

W = torch.arange(12.0).reshape(4, 3)
IDS = torch.tensor([0, 1, 2, 3, 1])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (([0, 2], False, 0), ([[3, 5, 7], [18, 21, 24]], [], [0, 0], [0, 0])),
        (([0, 2], False, 1), ([[1.5, 2.5, 3.5], [6, 7, 8]], [0, 0, 1, 1, 1], [2, 3], [2, 3])),
        (
            ([0, 2, 2], False, 2),
            (
                [[3, 4, 5], [0, 0, 0], [9, 10, 11]],
                [0, 0, 2, 2, 2],
                [2, 0, 3],
                [[1, 1, 1], [0, 0, 0], [3, 3, 3]],
            ),
        ),
        (([0, 2, 5], False, 0, False, None, True), ([[3, 5, 7], [18, 21, 24]], [], [0, 0, 0], [0, 0, 0])),
        (
            ([0, 2, 5], False, 0, False, None, True, 1),
            ([[0, 1, 2], [15, 17, 19]], [0, 0, 1, 1, 1], [0] * 3, [0] * 3),
        ),
        (
            ([0, 2, 5], False, 2, False, None, True, 1),
            ([[0, 1, 2], [9, 10, 11]], [0, 0, 1, 1, 1], [1, 2], [[0, 0, 0], [3, 3, 3]]),
        ),
    ],
)
def test_four_results(given, wanted):
    offsets, *rest = given
    assert tuple(t.tolist() for t in torch.embedding_bag(W, IDS, torch.tensor(offsets), *rest)) == wanted


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: F.embedding_bag(IDS, W, torch.tensor([0, 9])),
            RuntimeError,
            "can not be greater than input's length 5 but got",
        ),
        (
            lambda: F.embedding_bag(IDS, W, torch.tensor([1, 2])),
            RuntimeError,
            "However, got 1\n\\[ torch.LongTensor{} \\]",
        ),
        (
            lambda: F.embedding_bag(IDS, W, torch.tensor([0, 2]), padding_idx=9),
            RuntimeError,
            "-4 through 3, but got 9",
        ),
        (
            lambda: F.embedding_bag(torch.tensor([0, 7]), W, torch.tensor([0])),
            RuntimeError,
            r"Index 1 of input takes value 7 which is not in the valid range \[0, 4\)",
        ),
        (
            lambda: F.embedding_bag(torch.tensor([0, 7]), W, torch.tensor([0]), mode="max"),
            RuntimeError,
            "Expected idx >= 0 && idx < num_embeddings but found idx to be 7",
        ),
        (
            lambda: F.embedding_bag(IDS, W, torch.tensor([0]), mode="sum", per_sample_weights=torch.ones(4)),
            ValueError,
            "must have the same shape as the input",
        ),
        (
            lambda: F.embedding_bag(IDS, W, torch.tensor([0]), mode="max", sparse=True),
            ValueError,
            "does not support sparse",
        ),
        (lambda: F.embedding_bag(IDS, W[0], torch.tensor([0])), ValueError, "weight has to be a 2D Tensor"),
        (
            lambda: torch.embedding_bag(W, IDS, torch.tensor([[0]])),
            RuntimeError,
            "offsets has to be a 1D Tensor, but got",
        ),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bags_of_nothing_are_of_the_graph():
    weight = W.clone().requires_grad_()
    for mode in ("sum", "mean", "max"):
        found = F.embedding_bag(IDS[:0], weight, torch.tensor([0, 0]), mode=mode)
        assert found.tolist() == [[0] * 3] * 2
        found.sum().backward()
    assert not weight.grad.any()


def test_tables_of_integers():
    table = torch.nn.Embedding.from_pretrained(torch.ones(2, 3, dtype=torch.int16))
    assert table(torch.tensor([1])).dtype == torch.int16 and not table.weight.requires_grad
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        torch.nn.Embedding(2, 3, dtype=torch.int8)


def test_data_of_a_sparse_gradient():
    weight = W.clone().requires_grad_()
    for _ in range(2):
        F.embedding(IDS[:2], weight, sparse=True).sum().backward()
    assert weight.grad.data.is_sparse and weight.grad.data.to_dense()[:2].tolist() == [[2] * 3] * 2
    assert weight.grad._nnz() == 4


def test_the_largest_of_a_bag_passes_nan_over_where_it_does_not_come_first() -> None:
    w = torch.arange(40.0).reshape(10, 4)
    w[3] = float("nan")
    found = F.embedding_bag(torch.tensor([[1, 3, 2], [3, 1, 2]]), w, mode="max")
    assert found[0].tolist() == [8.0, 9.0, 10.0, 11.0] and bool(found[1].isnan().all())
    uneven = F.embedding_bag(torch.tensor([1, 3, 2, 3]), w, torch.tensor([0, 3]), mode="max")
    assert uneven[0].tolist() == [8.0, 9.0, 10.0, 11.0] and bool(uneven[1].isnan().all())
