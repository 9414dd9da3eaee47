"""Datasets, samplers, collating and the loader do what PyTorch was recorded to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, Subset, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from data_behaviours import DATA

test_behaviour = DATA.compared(torch)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_whole_batches_are_what_stacked_items_are(dtype: str) -> None:
    """A TensorDataset is read by whole batches, also through Subsets; a class of the program's by items."""

    class Plain(TensorDataset):
        pass

    tensors = torch.arange(12).to(getattr(torch, dtype)).reshape(6, 2), torch.arange(6)
    made = [
        TensorDataset(*tensors),
        Subset(Subset(TensorDataset(*tensors), range(6)), range(6)),
        Plain(*tensors),
    ]
    slow = list(DataLoader(made.pop(), 4, shuffle=True, generator=torch.Generator().manual_seed(2)))
    for data in made:
        fast = list(DataLoader(data, 4, shuffle=True, generator=torch.Generator().manual_seed(2)))
        assert [len(b) for b in fast] == [len(b) for b in slow] == [2, 2]
        _compare(fast, slow)


def _compare(fast: list[Any], slow: list[Any]) -> None:
    for a, b in zip(fast, slow, strict=True):
        assert type(a) is type(b) is list
        for s, t in zip(a, b, strict=True):
            assert s.dtype is t.dtype and bool((s == t).all())


def test_batches_do_not_share_memory_with_the_data() -> None:
    t = torch.zeros(4, 2)
    (batch,) = next(iter(DataLoader(TensorDataset(t), 2)))
    batch.fill_(1)
    assert not t.any()


def test_older_name_of_where_datasets_end():
    found = torch.utils.data.ConcatDataset([[1, 2], [3]])
    with pytest.warns(FutureWarning, match="is renamed to `cumulative_sizes`"):
        assert found.cummulative_sizes == [2, 3]
