"""The DataLoader: batches of a dataset, in this process."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import rushlight as torch
from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import IterableDataset, TensorDataset
from rushlight.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)
# What an iteration relies on is chosen once.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


def get_worker_info() -> None:
    """None: the main process loads the data."""
    return None


class _Endless:
    """The sampler of an iterable dataset: no indices to choose."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Iterate over a dataset in batches.

    num_workers: only 0 (this process loads the data); seeds, shuffles and draws from the default
    generator are PyTorch's.
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
                 collate_fn: Any = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Any = None, multiprocessing_context: Any = None,
                 generator: Any = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.prefetch_factor, self.timeout = prefetch_factor, timeout
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.pin_memory_device = persistent_workers, pin_memory_device
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        self._check_sampling(shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, "
                                 "sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive "
                             "with drop_last")
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_ready" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is "
                             "initialized")
        super().__setattr__(name, value)

    def _default_sampler(self, shuffle: bool | None) -> Any:
        if self._iterable:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def _check_sampling(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        if self._iterable:
            if shuffle not in (False, None):
                raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle option, "
                                 f"but got shuffle={shuffle}")
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} "
                                     f"option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")

    def __iter__(self) -> Iterator[Any]:
        return _Iterator(self)

    def __len__(self) -> int:
        if self._iterable:
            length = len(self.dataset)
            if self.batch_size is None:
                return length
            return length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None,
                   persistent_workers: bool, context: Any) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable "
                         "multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let "
                         "num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
                         "None.")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers == 0 and context is not None:
        raise ValueError("multiprocessing_context can only be used with multi-process loading "
                         "(num_workers > 0), but got num_workers=0")
    if num_workers > 0:
        raise NotImplementedError(f"DataLoader: num_workers={num_workers} needs worker processes, which "
                                  "Rushlight does not have yet; use num_workers=0 (a TensorDataset is "
                                  "read in whole batches, without a loop over items)")


class _Iterator:
    """One pass over the loader."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        sampler = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        self._indices = iter(sampler)
        # Worker seeds would be counted from this draw: it keeps the generator's state PyTorch's.
        self._base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        self._items = iter(loader.dataset) if loader._iterable else None
        self._ended = False

    def __iter__(self) -> "_Iterator":
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        loader = self._loader
        if self._items is not None:
            return self._next_of_iterable()
        index = next(self._indices)
        if loader.batch_sampler is None:
            return loader.collate_fn(loader.dataset[index])
        whole = _whole_batch(loader, index)
        return loader.collate_fn(_fetch(loader.dataset, index)) if whole is None else whole

    def _next_of_iterable(self) -> Any:
        loader = self._loader
        if self._ended:
            raise StopIteration
        if loader.batch_sampler is None:
            return loader.collate_fn(next(self._items))  # type: ignore[arg-type]
        batch = []
        for _ in next(self._indices):
            try:
                batch.append(next(self._items))  # type: ignore[arg-type]
            except StopIteration:
                self._ended = True
                break
        if not batch or (loader.drop_last and len(batch) < (loader.batch_size or 0)):
            raise StopIteration
        return loader.collate_fn(batch)


def _fetch(dataset: Any, indices: list[Any]) -> Any:
    many = getattr(dataset, "__getitems__", None)
    return many(indices) if callable(many) else [dataset[i] for i in indices]


def _whole_batch(loader: DataLoader, indices: list[Any]) -> Any:
    """A plain TensorDataset's batch by one index_select per tensor: what stacking items gives."""
    dataset = loader.dataset
    if type(dataset) is not TensorDataset or loader.collate_fn is not default_collate:
        return None
    tensors = dataset.tensors
    if not indices or any(type(t) is not torch.Tensor or t.requires_grad for t in tensors):
        return None
    if any(type(i) is not int or not 0 <= i < len(dataset) for i in indices):
        return None
    rows = torch.tensor(indices)
    return [t.index_select(0, rows) for t in tensors]
