"""Iterators of ours over loaders that others wrote (fastai's)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils.data import DataLoader, dataloader, iterator


class Loader:
    """What PyTorch's iterators ask of a loader, and nothing else."""

    _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
    generator, prefetch_factor, pin_memory, timeout, persistent_workers = None, 2, False, 0, False
    pin_memory_device, worker_init_fn, multiprocessing_context = "", None, None
    _dataset_kind = dataloader._DatasetKind.Iterable

    def __init__(self, num_workers: int) -> None:
        self.dataset, self.num_workers, self._index_sampler = self, num_workers, iter(range(10))

    @staticmethod
    def collate_fn(item: int) -> int:
        """The item."""
        return item

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2, 3))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_loaders_of_others(num_workers: int) -> None:
    kind = iterator._MultiProcessingDataLoaderIter if num_workers else iterator._SingleProcessDataLoaderIter
    assert list(kind(Loader(num_workers))) == [1, 2, 3]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_program_may_begin_further_on_by_its_own_functions(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    begin = iterator._BaseDataLoaderIter.__init__

    def further(self: Any, loader: Any) -> None:
        begin(self, loader)
        next(self._sampler_iter)

    def again(self: Any, loader: Any, first_iter: bool = False) -> None:
        if not first_iter:
            self._sampler_iter = iter(self._index_sampler)

    monkeypatch.setattr(iterator._BaseDataLoaderIter, "__init__", further)
    monkeypatch.setattr(iterator._BaseDataLoaderIter, "_reset", again)
    loader = DataLoader(torch.arange(4), num_workers=workers, persistent_workers=workers > 0)
    assert [int(x) for x in loader] == [1, 2, 3]
    assert [int(x) for x in loader] == ([0, 1, 2, 3] if workers else [1, 2, 3])
