"""Distances of pairs, places of triangles and of runs, and other ways of few calls: PyTorch's values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.mark.parametrize(("n", "size"), [(2, 3), (3, 9), (40, 64), (128, 70)])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, math.inf])
def test_distances_of_all_pairs(n: int, size: int, p: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(n, size)
    apart = torch.cdist(x, x, p, compute_mode="donot_use_mm_for_euclid_dist")
    wanted = apart[tuple(torch.triu_indices(n, n, 1))]
    for _ in range(3):
        found = F.pdist(x, p)
        torch.testing.assert_close(found, wanted)
        assert found.equal(F.pdist(x.clone().requires_grad_(), p).detach())


def test_gradients_of_distances_of_all_pairs() -> None:
    x = torch.randn(5, 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(F.pdist, (x,))
    assert torch.vmap(F.pdist)(torch.randn(3, 5, 12)).shape == (3, 10)


@pytest.mark.parametrize("offset", range(-3, 4))
@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (4, 1), (3, 5), (4, 4), (2, 0)])
def test_places_of_triangles(rows: int, columns: int, offset: int) -> None:
    lower, upper = (f(rows, columns, offset) for f in (torch.tril_indices, torch.triu_indices))
    whole = np.ones((rows, columns))
    assert np.array_equal(lower.numpy(), np.nonzero(np.tril(whole, offset)))
    assert np.array_equal(upper.numpy(), np.nonzero(np.triu(whole, offset)))


def test_runs_and_flat_positions() -> None:
    x = torch.tensor([1, 1, 2, 2, 3, 1])
    assert torch.unique_consecutive(x).tolist() == [1, 2, 3, 1]
    values, back, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values[back].equal(x) and counts.tolist() == [2, 2, 1, 1]
    assert torch.unique_consecutive(torch.tensor([])).shape == (0,)
    assert torch.arange(6.0).view(2, 3).take(torch.tensor([[0, -1], [5, 2]])).tolist() == [[0, 5], [5, 2]]
    for outside in (6, -7):
        with pytest.raises(IndexError, match="out of range"):
            torch.arange(6.0).take(torch.tensor([outside]))


def test_new_dims_between_full_slices() -> None:
    x = torch.arange(12.0).view(3, 4).requires_grad_()
    for key, shape, stride in (
        (np.s_[:, None], (3, 1, 4), (4, 4, 1)),
        (np.s_[None, :], (1, 3, 4), (12, 4, 1)),
        (np.s_[:, None, :, None], (3, 1, 4, 1), (4, 4, 1, 1)),
        (np.s_[None, None], (1, 1, 3, 4), (12, 12, 4, 1)),
    ):
        seen = x[key]
        assert seen.shape == shape and seen.stride() == stride
        assert seen.grad_fn is not None and seen.grad_fn.name() == "UnsqueezeBackward0"
    with pytest.raises(IndexError, match="too many indices"):
        x[:, :, :, None]


@pytest.mark.parametrize("each", [1, 4])
def test_maxima_of_bags_of_one_length(each: int) -> None:
    torch.manual_seed(0)
    table = torch.randint(0, 4, (10, 5)).float().requires_grad_()
    indices = torch.randint(0, 10, (6, each))
    found = F.embedding_bag(indices, table, mode="max")
    assert found.equal(table[indices].amax(1))
    found.sum().backward()
    (slopes,) = torch.autograd.grad(table[indices].max(1)[0].sum(), table)
    assert table.grad is not None and table.grad.equal(slopes)
