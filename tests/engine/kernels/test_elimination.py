"""Small decompositions and triangular equations by machine code: NumPy's bits, and solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.ops.linalg import lu, reflections

pytest.importorskip("llvmlite")


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 8, 8), (500, 3, 3), (5, 9, 4), (2, 64, 64), (1, 1, 1)])
@pytest.mark.parametrize("kind", ["random", "equal sizes", "zeros", "not numbers"])
def test_decompositions_have_the_bits_of_numpy(
    of: str, shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.random.default_rng(0).standard_normal(shape).astype(of)
    if kind == "equal sizes":
        a = np.sign(a)
    if kind == "zeros":
        a[..., 0] = 0
    if kind == "not numbers":
        a.flat[0], a.flat[-1] = np.nan, np.inf
    found = lu.factor(a)
    monkeypatch.setattr(lu, "service", lambda _: lambda *_: False)
    with np.errstate(all="ignore"):
        wanted = lu.factor(a)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_wide_matrices() -> None:
    a = torch.randn(5, 4, 9, dtype=torch.float64)
    p, low, high = torch.linalg.lu(a)
    torch.testing.assert_close(p @ low @ high, a)


@pytest.mark.parametrize("of", [torch.float32, torch.float64])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    ("n", "wide", "batch"), [(1, 1, ()), (3, 2, (5,)), (8, 8, (2, 3)), (70, 2, (2,)), (64, 3, ())]
)
def test_triangles(of: Any, upper: bool, unit: bool, n: int, wide: int, batch: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    a = torch.randn(*batch, n, n, dtype=of) / n + torch.eye(n, dtype=of)
    whole = a.triu() if upper else a.tril()
    if unit:
        whole.diagonal(0, -2, -1).fill_(1.0)
    x = torch.randn(n, wide, dtype=of)  # the same for all
    nothing = torch.full_like(a, float("nan"))  # is not read
    given = whole.where(nothing.isnan().triu() if upper else nothing.isnan().tril(), nothing)
    found = torch.linalg.solve_triangular(given, whole @ x, upper=upper, unitriangular=unit)
    torch.testing.assert_close(found, x.expand(*batch, n, wide), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_small_inverses(n: int) -> None:
    torch.manual_seed(0)
    a = torch.randn(2, 50, n, n, dtype=torch.float64)
    found = torch.linalg.inv(a)
    torch.testing.assert_close(found, torch.from_numpy(np.linalg.inv(a.numpy())))
    assert found.stride() == a.mT.contiguous().mT.stride()
    a[1, 3] = 0
    assert torch.linalg.inv_ex(a).info.nonzero().tolist() == [[1, 3]]
    with pytest.raises(torch.linalg.LinAlgError, match="The diagonal element 1 is zero"):
        torch.linalg.inv(a)


@pytest.mark.parametrize(("rows", "columns"), [(65, 65), (150, 70), (70, 150)])
def test_large_matrices_are_decomposed_in_blocks(rows: int, columns: int) -> None:
    a = torch.randn(2, rows, columns, dtype=torch.float64)
    p, low, up = torch.linalg.lu(a)
    torch.testing.assert_close(p @ low @ up, a)
    assert low.abs().max() <= 1  # rows were exchanged by the largest element
    alone = torch.linalg.lu_factor(a[0])
    for one, both in zip(alone, torch.linalg.lu_factor(a), strict=True):
        torch.testing.assert_close(one, both[0])


@pytest.mark.parametrize("upper", [False, True])
def test_large_triangles_are_undone_in_blocks(upper: bool) -> None:
    a = torch.randn(2, 131, 131, dtype=torch.float64) / 131 + 2 * torch.eye(131, dtype=torch.float64)
    b = torch.randn(2, 131, 9, dtype=torch.float64)
    x = torch.linalg.solve_triangular(a, b, upper=upper)
    torch.testing.assert_close((a.triu() if upper else a.tril()) @ x, b)


@pytest.mark.parametrize("n", [64, 100])
def test_equations_and_inverses_of_large_matrices(n: int) -> None:
    a, b = torch.randn(3, n, n, dtype=torch.float64), torch.randn(3, n, 4, dtype=torch.float64)
    torch.testing.assert_close(a @ torch.linalg.solve(a, b), b)
    eye = torch.eye(n, dtype=torch.float64).expand(3, n, n)
    torch.testing.assert_close(a @ torch.linalg.inv(a), eye, rtol=1e-7, atol=1e-7)
    a[1] = 0
    found, info = torch.linalg.solve_ex(a, b)
    assert info.tolist() == [0, 1, 0] and not found[0].isnan().any()


@pytest.mark.parametrize(("batch", "n", "wide"), [((), 1, 4), ((2,), 3, 1), ((0,), 3, 2), ((2,), 3, 0)])
def test_results_lie_by_columns_whatever_the_sizes(batch: tuple[int, ...], n: int, wide: int) -> None:
    a, b = torch.eye(n).expand(*batch, n, n), torch.ones(*batch, n, wide)
    solve = torch.linalg.solve_triangular
    for found in (torch.linalg.solve(a, b), solve(a, b, upper=True), torch.linalg.inv(a)):
        assert found.stride()[-2:] == (1, n)
    assert solve(a, b.mT, upper=True, left=False).stride()[-2:] == (1, max(wide, 1))


def test_equations_of_no_rows() -> None:
    lu, pivots = torch.linalg.lu_factor(torch.ones(0, 0))
    assert torch.linalg.lu_solve(lu, pivots, torch.ones(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("shape", [(4, 4), (3, 7, 4), (4, 9), (64, 65), (2, 100, 70), (70, 100)])
def test_reflections_are_those_of_lapack(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a column is nothing, and of another scale."""
    a = np.random.default_rng(0).standard_normal(shape)
    a[..., 1], a[..., 2] = 0, a[..., 2] * 1e-170
    for complete in (False, True):
        found = reflections.factors(a, complete)
        with monkeypatch.context() as without:
            without.setattr(reflections, "service", lambda _: lambda *_: False)
            wanted = reflections.factors(a, complete)
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-13)
        narrow = reflections.factors(a.astype(np.float32), complete)
        np.testing.assert_allclose(narrow[0] @ narrow[1], a, atol=2e-6)
    assert np.isnan(reflections.factors(np.full(shape, np.nan))[1]).any()


@pytest.mark.parametrize("n", [1, 4, 17, 64])
@pytest.mark.parametrize("upper", [False, True])
def test_small_roots(n: int, upper: bool) -> None:
    """One triangle is read, and of what is not positive-definite the place is said."""
    x = torch.randn(3, n, n, dtype=torch.float64)
    a = x @ x.mT + torch.eye(n, dtype=torch.float64)
    other = a.tril(-1) if upper else a.triu(1)
    found = torch.linalg.cholesky(a + 1e9 * other, upper=upper)
    torch.testing.assert_close(found.mT @ found if upper else found @ found.mT, a)
    a[1, -1, -1] = -1
    assert torch.linalg.cholesky_ex(a, upper=upper)[1].tolist() == [0, n, 0]
