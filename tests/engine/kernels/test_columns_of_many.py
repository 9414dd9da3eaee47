"""Columns of very many small matrices, of which nothing is kept of a call for each; and of long rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.loops import columns_in_registers
from rushlight._engine.kernels.loops.column_loops import in_chunks


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_jobs_of_many_matrices_are_not_kept() -> None:
    x = torch.randn(9000, 2, 64)
    kept = columns_in_registers._call.cache_info().currsize
    first, again = x.amax(1), x.amax(1)
    total = x.sum(1)
    assert torch.equal(first, again) and torch.equal(first, torch.maximum(x[:, 0], x[:, 1]))
    assert torch.equal(total, x[:, 0] + x[:, 1])
    assert columns_in_registers._call.cache_info().currsize - kept <= 2  # of their columns taken together


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [17, 64, 200, 256, 300, 1031, 2048, 2100])
def test_sums_of_long_rows_are_those_of_blocks_of_rows(columns: int, dtype: str) -> None:
    """Whatever registers hold, and however many threads there are."""
    of = np.dtype(dtype)
    for rows in (1, 63, 200, 2100):
        a = np.random.default_rng(columns).standard_normal((rows, columns)).astype(of)
        parts = [a[low : low + 1024] for low in range(0, rows, 1024)] if in_chunks(rows, columns) else [a]
        totals = [_sums(part) for part in parts]
        for threads in (1, 2):
            torch.set_num_threads(threads)
            run = columns_in_registers.sums_of(of, rows, columns)
            if run is not None:
                assert (run(a) == np.add.reduce(totals, 0)).all()
            longest = columns_in_registers.columns_of("max", of, (1, rows, columns))
            assert longest is None or (longest(a) == a.max(0)).all()


def _sums(a: np.ndarray) -> np.ndarray:
    blocks = [np.add.reduce(a[low : low + 64], 0) for low in range(0, len(a), 64)]
    return np.add.reduce(blocks, 0, dtype=np.float64).astype(a.dtype)
