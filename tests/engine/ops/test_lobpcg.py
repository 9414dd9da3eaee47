"""torch.lobpcg: pairs that solve the problem, their order, gradients, refusals."""

from __future__ import annotations

import pytest

import rushlight as torch


def _symmetric(m: int) -> torch.Tensor:
    torch.manual_seed(1)
    a = torch.rand(m, m, dtype=torch.float64)
    return a @ a.mT / 10


@pytest.mark.parametrize("largest", [True, False])
def test_pairs_of_a_symmetric_matrix(largest: bool) -> None:
    a = _symmetric(20)
    for given in (a, a.to_sparse()):
        e, v = torch.lobpcg(given, k=3, largest=largest)
        known = torch.linalg.eigvalsh(a)
        torch.testing.assert_close(e, (known.flip(0) if largest else known)[:3], atol=1e-7, rtol=0)
        torch.testing.assert_close(a @ v, v * e, atol=1e-6, rtol=0)


def test_with_another_metric_and_in_batches() -> None:
    a = _symmetric(12)
    b = _symmetric(12) + torch.eye(12, dtype=torch.float64)
    e, v = torch.lobpcg(a.expand(2, 12, 12), k=2, B=b.expand(2, 12, 12))
    torch.testing.assert_close(a @ v, b @ v * e.unsqueeze(-2), atol=1e-6, rtol=0)
    torch.testing.assert_close(v.mT @ b @ v, torch.eye(2, dtype=torch.float64).expand(2, 2, 2))
    seen = []
    torch.lobpcg(a, k=2, niter=3, tracker=lambda worker: seen.append(worker.istep))
    assert seen == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="smaller than 3 x the number of requested eigenpairs"):
        torch.lobpcg(a, k=5)


def test_gradients() -> None:
    a = _symmetric(6).requires_grad_()
    start = torch.eye(6, 1, dtype=torch.float64)

    def squared(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        e, v = torch.lobpcg(a, k=1, X=start)
        return e, v * v  # whatever the vector's sign

    assert torch.autograd.gradcheck(squared, (a,))
