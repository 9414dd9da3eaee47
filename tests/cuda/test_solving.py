"""Linear algebra by cuSOLVER, over an imitation of it: results, gradients, layouts and errors of the CPU's."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.driver import solver
from tests.cuda.fake_driver import FakeDriver
from tests.cuda.fake_solver import FakeSolver

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver", 1)
L = torch.linalg


@pytest.fixture(autouse=True)
def library(fake: FakeDriver, monkeypatch: Any) -> FakeSolver:
    """A device whose cuSOLVER is an imitation, too."""
    made = FakeSolver(fake)
    monkeypatch.setattr(solver.Override, "library", made)
    return made


def _definite(*shape: int) -> torch.Tensor:
    a = torch.randn(*shape)
    return a @ a.mT + torch.eye(shape[-1])


CASES: dict[str, tuple[Any, Any]] = {
    "cholesky": (lambda a: L.cholesky(a), lambda: (_definite(3, 4, 4),)),
    "cholesky, upper": (lambda a: L.cholesky(a, upper=True), lambda: (_definite(4, 4).mT,)),
    "lu_factor": (lambda a: L.lu_factor(a), lambda: (torch.randn(2, 4, 4),)),
    "lu of a tall one": (lambda a: L.lu_factor(a)[0], lambda: (torch.randn(5, 3),)),
    "solve": (lambda a, b: L.solve(a, b), lambda: (torch.randn(2, 4, 4), torch.randn(4, 3))),
    "solve, a vector": (lambda a, b: L.solve(a, b), lambda: (torch.randn(4, 4), torch.randn(4))),
    "inverse": (lambda a: L.inv(a), lambda: (torch.randn(3, 4, 4),)),
    "det": (lambda a: L.det(a), lambda: (torch.randn(3, 4, 4),)),
    "slogdet": (lambda a: L.slogdet(a), lambda: (torch.randn(3, 4, 4),)),
    "triangle above": (
        lambda a, b: L.solve_triangular(a, b, upper=True),
        lambda: (_definite(2, 4, 4), torch.randn(2, 4, 3)),
    ),
    "triangle below": (
        lambda a, b: L.solve_triangular(a, b, upper=False),
        lambda: (_definite(4, 4), torch.randn(2, 4, 3)),
    ),
    "triangle of ones": (
        lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True, left=False),
        lambda: (torch.randn(4, 4), torch.randn(3, 4)),
    ),
    "qr": (lambda a: L.qr(a), lambda: (torch.randn(2, 5, 3),)),
    "qr of a wide one": (lambda a: L.qr(a), lambda: (torch.randn(3, 5),)),
    "qr, complete": (lambda a: [t.detach() for t in L.qr(a, "complete")], lambda: (torch.randn(5, 3),)),
    "eigvalsh": (lambda a: L.eigvalsh(a), lambda: (_definite(2, 4, 4),)),
    "eigh": (lambda a: [t.abs() for t in L.eigh(a, "U")], lambda: (_definite(4, 4),)),
    "svdvals": (lambda a: L.svdvals(a), lambda: (torch.randn(2, 3, 5),)),
    "svd": (lambda a: [t.abs() for t in L.svd(a, full_matrices=False)], lambda: (torch.randn(5, 3),)),
    "svd of a wide one": (
        lambda a: [t.abs() for t in L.svd(a, full_matrices=False)],
        lambda: (torch.randn(2, 3, 5),),
    ),
    "svd, full": (lambda a: [t.detach().abs() for t in L.svd(a)], lambda: (torch.randn(4, 3),)),
    "a determinant of a transpose": (lambda a: L.det(a.mT), lambda: (torch.randn(4, 4),)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_what_the_cpu_gives(name: str, dtype: torch.dtype) -> None:
    function, make = CASES[name]
    given = make()
    here = [t.to(dtype).detach().clone().requires_grad_() for t in given]
    there = [t.to(dtype).cuda().requires_grad_() for t in given]
    ends = []
    for operands in (here, there):
        found = function(*operands)
        ends.append([found] if isinstance(found, torch.Tensor) else list(found))
    for a, b in zip(*ends, strict=True):
        assert b.is_cuda and b.dtype is a.dtype and b.stride() == a.stride()
        torch.testing.assert_close(b.cpu(), a, rtol=2e-4, atol=2e-4)
    tracked = [k for k, t in enumerate(ends[0]) if t.requires_grad]
    if tracked:
        for end in ends:
            torch.autograd.backward([end[k].sum() for k in tracked])
        for a, b in zip(here, there, strict=True):
            if a.grad is not None and b.grad is not None:
                torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=2e-3, atol=2e-3)


def test_what_cannot_be_done() -> None:
    singular = torch.zeros(3, 3, device="cuda")
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        L.inv(singular)
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        L.cholesky(-torch.eye(3, device="cuda"))
    assert int(L.inv_ex(singular).info.cpu()) == 1
    with pytest.raises(NotImplementedError, match="no kernel for it yet"):
        L.svd(torch.randn(3, 3, dtype=torch.complex64).cuda())


@pytest.mark.parametrize("of", ["float32", "float64", "complex64", "complex128"])
def test_general_eigenvalues(of: str) -> None:
    x = torch.randn(2, 3, 5, 5, dtype=getattr(torch, of))
    values, vectors = L.eig(x.cuda())
    wide = values.dtype
    assert wide.is_complex and vectors.stride() == L.eig(x).eigenvectors.stride()
    left, right = x.to(wide) @ vectors.cpu(), vectors.cpu() * values.cpu()[..., None, :]
    torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(vectors.cpu().norm(dim=-2), torch.ones(2, 3, 5, dtype=values.real.dtype))
    torch.testing.assert_close(L.eigvals(x.cuda()).cpu(), values.cpu())
    single = L.eigvals(x[0, 0].cuda()).cpu()
    torch.testing.assert_close(single, values[0, 0].cpu())


@pytest.mark.parametrize("of", ["complex64", "complex128"])
def test_equations_of_complex_numbers(of: str) -> None:
    x, y = torch.randn(2, 4, 4, dtype=getattr(torch, of)), torch.randn(2, 4, 3, dtype=getattr(torch, of))
    torch.testing.assert_close(L.solve(x.cuda(), y.cuda()).cpu(), L.solve(x, y), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(L.inv(x.cuda()).cpu(), L.inv(x), rtol=1e-4, atol=1e-4)
    order, lower, upper = torch.lu_unpack(*[t.cpu() for t in L.lu_factor(x.cuda())])
    torch.testing.assert_close(order @ lower @ upper, x, rtol=1e-4, atol=1e-4)
    assert L.inv_ex(torch.zeros(2, 2, dtype=x.dtype, device="cuda")).inverse.isnan().all()


def test_general_eigenvalues_have_gradients() -> None:
    x = torch.randn(4, 4, dtype=torch.float64)
    a, b = (t.requires_grad_() for t in (x.clone(), x.cuda()))
    for t in (a, b):
        (L.eigvals(t) ** 2).real.sum().backward()
    torch.testing.assert_close(b.grad.cpu(), a.grad)


def test_an_older_library_has_no_general_eigenvalues(library: FakeSolver, monkeypatch: Any) -> None:
    monkeypatch.setattr(FakeSolver, "cusolverDnCreateParams", None)
    with pytest.raises(NotImplementedError, match=r"no cusolverDnCreateParams: it came with version 11\.7"):
        L.eigvals(torch.eye(3, device="cuda"))


def test_errors_of_the_library(library: FakeSolver) -> None:
    x = torch.randn(3, 3, device="cuda")
    library.refuses["gesvd"] = 7
    with pytest.raises(RuntimeError, match="CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnSgesvd`"):
        L.svdvals(x)
    library.refuses.clear()
    L.svdvals(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        L.svdvals(x)
    assert library.stream == stream.cuda_stream and library.calls["gesvd"] == 3


def test_it_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setattr(solver.Override, "library", None)
    monkeypatch.setattr(solver, "_places", lambda driver: ["libcusolver.so.none"])
    solver._installed.cache_clear()
    with pytest.raises(RuntimeError, match=r"pip install 'rushlight\[cusolver\]' brings it"):
        L.cholesky(torch.eye(3, device="cuda"))
