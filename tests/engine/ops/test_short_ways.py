"""Ops that go a shorter way than by their parts: bags, distances, triangles, orders, products of bytes."""

from __future__ import annotations

from math import inf

import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags_are_sums_of_rows(mode: str, padding: int | None) -> None:
    table = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
    numbers, offsets = torch.tensor([1, 2, 2, 8, 0, 3]), torch.tensor([0, 0, 2, 5])
    found = F.embedding_bag(numbers, table, offsets, mode=mode, padding_idx=padding)
    for i, (low, high) in enumerate([(0, 0), (0, 2), (2, 5), (5, 6)]):
        own = [int(n) for n in numbers[low:high] if int(n) != padding]
        wanted = table[own].sum(0) / (max(len(own), 1) if mode == "mean" else 1)
        assert torch.allclose(found[i], wanted)
    assert torch.autograd.gradcheck(
        lambda t: F.embedding_bag(numbers, t, offsets, mode=mode), table.detach().requires_grad_()
    )


def test_weights_of_samples_have_gradients() -> None:
    table = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(6, dtype=torch.float64, requires_grad=True)
    numbers = torch.tensor([0, 3, 3, 1, 2, 0])
    assert torch.autograd.gradcheck(
        lambda t, w: F.embedding_bag(numbers.view(2, 3), t, mode="sum", per_sample_weights=w.view(2, 3)),
        (table, weights),
    )


def test_an_index_that_is_no_row_is_refused() -> None:
    with pytest.raises(RuntimeError, match="takes value 4 which is not in the valid range"):
        F.embedding_bag(torch.tensor([[0, 4]]), torch.randn(4, 3))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, inf])
@pytest.mark.parametrize("size", [2, 20])
def test_distances(p: float, size: int) -> None:
    a, b = torch.randn(2, 6, size, dtype=torch.float64), torch.randn(2, 4, size, dtype=torch.float64)
    wanted = torch.linalg.vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, -1)
    assert torch.allclose(torch.cdist(a, b, p), wanted)
    assert torch.allclose(F.pdist(a[0], p), torch.cdist(a[0], a[0], p)[*torch.triu_indices(6, 6, 1)])
    given = [t.clone().requires_grad_() for t in (a, b)]
    assert torch.autograd.gradcheck(lambda x, y: torch.cdist(x, y, p), given)


def test_pairs_of_labels_that_none_are_summed_over() -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 5)
    assert torch.equal(torch.einsum("bi,bj->bij", a, b), a[:, :, None] * b[:, None])
    assert torch.equal(torch.einsum("bi,bj->jbi", a, b), (a[:, :, None] * b[:, None]).permute(2, 0, 1))


def test_plans_of_normalised_groups_hold() -> None:
    x, w = torch.randn(2, 6, 5, 5), torch.randn(6)
    found = [F.group_norm(x, 3, w, w) for _ in range(4)]
    assert all(torch.equal(found[0], f) for f in found[1:])
    assert torch.equal(F.group_norm(x * 2, 3, w, w), F.group_norm(x * 2, 3, w, w))


def test_writes_by_the_generated_way_are_refused_as_by_the_general() -> None:
    x, at = torch.zeros(3, 4), torch.tensor([[1], [0], [2]])
    for _ in range(3):
        x.scatter_(1, at, 1.0)
    assert x.sum() == 3 and x._version == 3
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.zeros(3, 4, requires_grad=True).scatter_(1, at, 1.0)
    with pytest.raises(RuntimeError, match="single memory location|unsupported operation"):
        torch.zeros(1, 4).expand(3, 4).scatter_(1, at, 1.0)
    own = torch.arange(4.0).repeat(2, 1)
    with pytest.raises(RuntimeError, match="single memory location|unsupported operation"):
        own.index_add_(0, torch.tensor([1]), own[:1])


def test_trapezoids_of_samples_at_equal_distances() -> None:
    y = torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]])
    assert torch.trapezoid(y).tolist() == [4.5, 3.5]
    assert torch.trapezoid(y, dx=2.0, dim=0).tolist() == [1.0, 5.0, 5.0]
    assert torch.trapezoid(torch.zeros(3, 0)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(IndexError):
        torch.trapezoid(torch.tensor(1.0))


@pytest.mark.parametrize("size", [(200, 150), (2, 130, 129), (70, 300)])
def test_triangles_of_large_matrices(size: tuple[int, ...]) -> None:
    a = torch.rand(size) + 1
    apart = torch.arange(size[-1]) - torch.arange(size[-2])[:, None]
    for k in (-300, -65, 0, 1, 63, 300):
        assert torch.equal(a.tril(k), torch.where(apart <= k, a, 0.0))
        assert torch.equal(a.triu(k), torch.where(apart >= k, a, 0.0))


@pytest.mark.parametrize("k", [16, 1024, 1032])
def test_products_of_bytes_are_exact(k: int) -> None:
    a, b = torch.full((32, k), -128, dtype=torch.int8), torch.full((k, 8), -128, dtype=torch.int8)
    b[0] = 127
    assert torch.equal(torch._int_mm(a, b), (a.long() @ b.long()).int())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("span", [40, 1 << 20])
def test_integers_near_each_other_are_ordered_as_others(descending: bool, span: int) -> None:
    a = torch.randint(-span, span, (3000, 2))
    values, places = a.sort(0, descending=descending, stable=True)
    assert torch.equal(values, a.gather(0, places))
    steps = values.diff(dim=0) * (-1 if descending else 1)
    assert (steps >= 0).all() and (places.diff(dim=0)[steps == 0] > 0).all()


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (5, 2), (0, 3), (3, 0)])
def test_places_of_triangles(rows: int, columns: int) -> None:
    for k in (-6, -1, 0, 2, 6):
        for name in ("tril", "triu"):
            found = getattr(torch, f"{name}_indices")(rows, columns, k)
            assert torch.equal(found, getattr(torch.ones(rows, columns), name)(k).nonzero().T)


def test_slices_are_copied_to_a_number() -> None:
    number, first = torch.tensor(3.0), torch.tensor([0])
    assert number.index_copy(0, first, torch.tensor([2.0])).tolist() == 2
    assert number.index_copy(0, first, torch.tensor(4.0)).tolist() == 4
    assert torch.ones(2).index_copy(0, torch.tensor([1]), torch.tensor([5.0])).tolist() == [1, 5]
