"""Columns of very many small matrices: nothing is kept of a call for each of them."""

from __future__ import annotations

import rushlight as torch
from rushlight._engine.kernels.loops import columns_in_registers


def test_jobs_of_many_matrices_are_not_kept() -> None:
    x = torch.randn(9000, 2, 64)
    kept = columns_in_registers._call.cache_info().currsize
    first, again = x.amax(1), x.amax(1)
    total = x.sum(1)
    assert torch.equal(first, again) and torch.equal(first, torch.maximum(x[:, 0], x[:, 1]))
    assert torch.equal(total, x[:, 0] + x[:, 1])
    assert columns_in_registers._call.cache_info().currsize - kept <= 2  # of their columns taken together
