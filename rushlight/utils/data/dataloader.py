"""The DataLoader: batches of a dataset, made here or by workers."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sized
from typing import Any, Generic, TypeVar, cast

from rushlight._engine.core.callers import warn
from rushlight.utils.data import resume
from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import Dataset, IterableDataset, T_co
from rushlight.utils.data.fetch import IterableFetcher, MapFetcher, Recipe
from rushlight.utils.data.iterator import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter as _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
    ahead,
)
from rushlight.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from rushlight.utils.data.worker import WorkerInfo as WorkerInfo, get_worker_info as get_worker_info

_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]
_worker_init_fn_t = Callable[[int], None]
# What an iteration relies on is chosen once.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of an iterable dataset: no indices to choose."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class _DatasetKind:
    """Whether a dataset is asked for items by index, or gone through."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool
    ) -> MapFetcher | IterableFetcher:
        """What fetches batches: its `fetch(index)` gives one."""
        return Recipe(dataset, kind == _DatasetKind.Iterable, auto_collation, collate_fn, drop_last).fetcher()


class DataLoader(Generic[T_co]):
    """Iterate over a dataset in batches: a sampler's indices, the items there, collate_fn of them.

    batch_size: items to a batch (1); None gives items one by one. shuffle: a new random order each epoch, by
    `generator`. sampler: gives indices, batch_sampler: lists of them, in place of these (ValueError for
    both). collate_fn: of a list of items, default_collate by default. drop_last: leave out a last batch that
    is smaller. pin_memory: copy batches to page-locked memory where there is a device.

    num_workers: 0 loads in this process; else so many workers load `prefetch_factor` (2) batches each in
    advance, in processes, or in threads with worker="thread". persistent_workers: they live from epoch to
    epoch. worker_init_fn(number) is called in each. in_order: batches come in the sampler's order. Orders,
    seeds and draws are PyTorch's. timeout: seconds to wait for a batch before RuntimeError; 0 waits as long
    as workers live. watchdog: after so many seconds of waiting a warning shows where the worker is; 0 never
    does.

    state_dict() and load_state_dict() resume in the middle of an epoch of a map-style dataset; random draws
    inside of workers begin there from the workers' seeds.
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker: str = "process",
        watchdog: float = 60.0,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, worker, watchdog)
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.timeout, self.worker, self.watchdog = timeout, worker, watchdog
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.pin_memory_device = persistent_workers, pin_memory_device
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if self._iterable else _DatasetKind.Map
        self._check_sampling(shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._IterableDataset_len_called: int | None = None
        self._iterator: _BaseDataLoaderIter | None = None
        self._progress: resume.Progress | None = None
        self._loaded: dict[str, Any] | None = None
        self.__initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool) -> Any:
        if self._iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__initialized:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _check_sampling(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        if self._iterable:
            if shuffle not in (False, None):
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle option, "
                    f"but got shuffle={shuffle}"
                )
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} "
                        f"option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes start: a context of multiprocessing, or None for the default."""
        return self.__context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        self.__context = None if value is None else _context(value, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return ahead(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if self._iterator is None or self._iterator.stopped:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._iterable:
            length = self._IterableDataset_len_called = len(cast(Sized, self.dataset))
            if self.batch_size is None:
                return length
            return length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return len(self._index_sampler)

    def state_dict(self) -> dict[str, Any]:
        """Where the newest iteration stands.

        Between epochs it is the state from which the next one begins.
        """
        return resume.state_of(self, self._progress)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next iteration go on where `state_dict` was taken, with any number of workers.

        The remaining batches and the following epochs are then the same. ValueError for a state of a loader
        with another number of batches or other generators.
        """
        resume.check(self, state_dict)
        self._loaded = dict(state_dict)

    def check_worker_number_rationality(self) -> None:
        """Warn of more worker processes than this process has processors."""
        affinity = getattr(os, "sched_getaffinity", None)
        most = len(affinity(0)) if affinity else os.cpu_count() or 1
        if self.num_workers > most and self.worker == "process":
            doubt = "" if affinity else " (`cpuset` is not taken into account)"
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {most}{doubt}, which is "
                "smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower "
                "the worker number to avoid potential slowness/freeze if necessary."
            )


def _check_workers(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
    worker: str,
    watchdog: float,
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers "
            "> 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if worker not in ("process", "thread"):
        raise ValueError(f'worker option should be "process" or "thread", but got worker={worker!r}')
    if watchdog < 0:
        raise ValueError(f"watchdog option should be non-negative, but got watchdog={watchdog}")


def _context(value: Any, num_workers: int) -> Any:
    """The context that was meant; ValueError or TypeError if it is none."""
    if not num_workers:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(value, str):
        methods = multiprocessing.get_all_start_methods()
        if value not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={value!r}"
            )
        return multiprocessing.get_context(value)
    if not isinstance(value, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={value}"
        )
    return value
