"""Iterators over a DataLoader: in this process, and by worker processes or threads.

Indices are drawn here, in PyTorch's order and as far ahead as PyTorch draws them; batch n of an epoch goes to
the worker whose turn it is and is given out n-th (unless in_order=False).
"""

from __future__ import annotations

import collections.abc
import itertools
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.profiling_ranges import spanned
from rushlight.utils.data import fetch, resume
from rushlight.utils.data.distributed import DistributedSampler
from rushlight.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler
from rushlight.utils.data.worker import Failure, Job

# Up to here it takes longer to hand a batch over than to gather its rows; so much goes in one message, and no
# more batches than that.
_SMALL, _MOST_GROUPED = 1 << 21, 32
# How many seconds pass until workers are looked at that send nothing.
_PATIENCE = 0.5
# Reading these samplers far ahead, but for their ends, draws nothing that anybody could see.
_FORESEEABLE = SequentialSampler, RandomSampler, SubsetRandomSampler, DistributedSampler


class _BaseDataLoaderIter:
    """One pass over the loader."""

    def __init__(self, loader: Any) -> None:
        if not hasattr(loader, "_iterable"):
            _completed(loader)
        self._span = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._dataset, self._iterable = loader.dataset, loader._iterable
        self._index_sampler = loader._index_sampler
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        self._recipe = _recipe(loader)
        self._pin_memory = loader.pin_memory and torch.cuda.is_available()
        if loader.pin_memory:
            _warn_of_pinning(loader.pin_memory_device, self._pin_memory)
        self._begin(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())

    def _begin(self, loader: Any) -> None:
        """Note where the epoch starts; `_skip` index lists of it were used by an earlier process."""
        self._resumed, loader._loaded = loader._loaded, None
        loader._progress, used = resume.begin(loader, self._resumed)
        # of an iterable dataset only whole batches can be passed over
        self._skip, self._drop = (0, used) if loader._iterable else (used, 0)
        self._progress, self._num_yielded = loader._progress, 0
        self._expected = loader._IterableDataset_len_called

    @property
    def stopped(self) -> bool:
        """Whether its workers were stopped by an error."""
        return False

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begin a pass, the first one or another. Programs put a function of theirs here."""
        self._sampler_iter, self._num_yielded = iter(self._index_sampler), 0

    def _pass_over(self) -> None:
        """Draw and forget what was used already."""
        for _ in itertools.islice(self._sampler_iter, self._skip):
            pass

    def _began(self) -> None:
        """The first indices are drawn."""
        if self._resumed is not None:
            resume.restore_default(self._resumed)
            self._resumed = None

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        try:
            while self._drop:
                self._next_data()
                self._drop -= 1
            data = spanned(self._span, self._next_data)
            if self._pin_memory:
                data = pin(data)
        except StopIteration:
            self._progress.ended = True
            raise
        self._num_yielded += 1
        self._progress.yielded += 1
        if self._expected is not None and self._num_yielded > self._expected:
            self._warn_of_length()
        return data

    def _next_index(self) -> Any:
        """The next index, or list of indices, to load."""
        return next(self._sampler_iter)

    def _next_indices(self, count: int) -> list[Any]:
        """What the next calls of _next_index() give, up to the sampler's end."""
        if type(self)._next_index is _BaseDataLoaderIter._next_index:
            return list(itertools.islice(self._sampler_iter, count))
        found: list[Any] = []
        while len(found) < count:
            try:
                found.append(self._next_index())
            except StopIteration:
                break
        return found

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._expected}(when "
            f"accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warn(text)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


def pin(data: Any) -> Any:
    """A batch whose tensors, also those in containers, lie in page-locked memory."""
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        kind: Callable[..., Any] = type(data)
        return kind({name: pin(value) for name, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin, data))
    if isinstance(data, (list, tuple)):
        return type(data)(map(pin, data))
    return data.pin_memory() if hasattr(data, "pin_memory") else data


def _warn_of_pinning(device: str, there: bool) -> None:
    if device:
        warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'."
        )
    if there:
        return
    warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
        "memory won't be used."
    )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches made here, when they are asked for.

    With workers in the loader: small batches that are merely rows of tensors, which no worker could hand over
    as fast. Indices are drawn as far ahead as for workers, and errors are told as theirs.
    """

    stopped = False

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if self._timeout != 0 and not self._num_workers:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = self._recipe.fetcher()
        self._ahead = (loader.prefetch_factor or 0) * self._num_workers
        if self._num_workers:
            self._reset(loader, first_iter=True)
        else:
            self._start()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if not first_iter:
            self._begin(loader)
        super()._reset(loader, first_iter)
        self._start()

    def _start(self) -> None:
        self._pass_over()
        self._number, self._drawn = self._skip, deque(self._next_indices(self._ahead))
        self._began()

    def _next_data(self) -> Any:
        if not self._ahead:
            index = self._next_index()
        else:
            self._drawn += self._next_indices(1)
            if not self._drawn:
                raise StopIteration
            index = self._drawn.popleft()
        number, self._number = self._number, self._number + 1
        try:
            return self._dataset_fetcher.fetch(index)
        except Exception as error:
            if not self._num_workers:
                raise
            Failure(error, f"in DataLoader worker process {number % self._num_workers}").reraise()

    def _shutdown_workers(self) -> None:
        """End the pass: there are no workers that could be stopped."""
        self._drawn.clear()
        self._sampler_iter = iter(())


def ahead(loader: Any) -> _BaseDataLoaderIter:
    """What workers give, by them or, where nobody could tell and it is faster, made here."""
    if loader.prefetch_factor <= 0:
        raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
    plain = loader.worker == "process" and loader.worker_init_fn is loader.multiprocessing_context is None
    if plain and 0 < _batch_bytes(loader, _recipe(loader)) <= _SMALL:
        return _SingleProcessDataLoaderIter(loader)
    return _MultiProcessingDataLoaderIter(loader)


def _batch_bytes(loader: Any, recipe: fetch.Recipe) -> int:
    """The bytes of a batch that is merely rows of tensors; 0 for others."""
    found = fetch.sources(recipe) if loader.batch_size else None
    return loader.batch_size * sum(t.element_size() * t[:1].numel() for t in found[0]) if found else 0


# What a loader of our own has besides what PyTorch's iterators ask for.
_OWN = {
    "_loaded": None,
    "batch_size": None,
    "batch_sampler": None,
    "sampler": None,
    "worker": "process",
    "watchdog": 60.0,
}


def _completed(loader: Any) -> None:
    """Give a loader of another class, which these may iterate over as PyTorch's may, what only ours has."""
    loader._iterable = bool(loader._dataset_kind)
    for name, value in _OWN.items():
        if not hasattr(loader, name):
            setattr(loader, name, value)


def _recipe(loader: Any) -> fetch.Recipe:
    return fetch.Recipe(
        loader.dataset, loader._iterable, loader._auto_collation, loader.collate_fn, loader.drop_last
    )


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches made ahead by workers."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._ahead = loader.prefetch_factor * self._num_workers
        self._in_order, self._watchdog = loader.in_order, loader.watchdog
        self._group = self._batches_per_message(loader)
        self._pass_number, self._dismissed, self._broken = -1, False, False
        job = Job(self._recipe, self._base_seed, loader.worker_init_fn, self._num_workers)
        self._pool: Any = _worker_pool(loader.worker)(job, loader.multiprocessing_context)
        # Runs when the iterator is dropped, also at the end of the program.
        self._stop = weakref.finalize(self, self._pool.stop)
        self._reset(loader, first_iter=True)

    def _batches_per_message(self, loader: Any) -> int:
        """More than 1 where batches are small, merely rows of tensors, and their indices can be foreseen."""
        sampler, size = getattr(loader.batch_sampler, "sampler", None), _batch_bytes(loader, self._recipe)
        if (
            not size
            or loader.worker != "process"
            or not loader.in_order
            or type(sampler) not in _FORESEEABLE
            or type(loader.batch_sampler) is not BatchSampler
            or getattr(sampler, "replacement", False)
        ):
            return 1
        return max(1, min(_MOST_GROUPED, _SMALL // size))

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """The first epoch, or another one by the same workers."""
        if not first_iter:
            self._begin(loader)
            for worker in range(self._num_workers):
                self._pool.put(worker, "again")
        super()._reset(loader, first_iter)
        self._start()

    def _start(self) -> None:
        self._pass_over()
        # Numbers go on from epoch to epoch, so that late answers to an abandoned one are known as such.
        self._pass_number += 1
        self._first = self._sent = self._due = (self._pass_number << 40) + self._skip
        # The last list may end the sampler, which PyTorch does as late as it can.
        self._foreseen = self._first - self._skip + len(self) - 1 if self._group > 1 else self._first
        self._assigned: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._active = [True] * self._num_workers
        self._load = [0] * self._num_workers
        first = self._skip % self._num_workers
        self._turns: Iterator[int] = itertools.cycle([*range(first, self._num_workers), *range(first)])
        for _ in range(self._ahead):
            self._refill()
        self._began()

    # --- giving out tasks ---------------------------------------------------------------------

    def _refill(self) -> None:
        """Replace the task that was just done; many are replaced together."""
        limit = 2 * self._group * self._num_workers
        while self._sent < self._foreseen and self._sent - self._due + self._group <= limit:
            self._send_next(min(self._group, self._foreseen - self._sent))
        if self._group == 1 or (self._sent >= self._foreseen and self._sent - self._due < self._ahead):
            self._send_next(1)

    def _send_next(self, count: int) -> None:
        """Send the next indices, if there are any, to the worker whose turn it is."""
        indices = self._next_indices(count)
        if not indices:
            self._dismiss()
            return
        worker = self._choose()
        if worker is not None:
            tasks = list(enumerate(indices, self._sent))
            self._pool.put(worker, tasks)
            self._assigned.update((number, worker) for number, _ in tasks)
            self._load[worker] += len(tasks)
            self._sent += len(tasks)

    def _dismiss(self) -> None:
        """No index is left: let workers end when they are done, while their batches are used."""
        if not self._persistent_workers and not self._dismissed:
            self._dismissed = True
            for worker in range(self._num_workers):
                self._pool.put(worker, "end")

    def _choose(self) -> int | None:
        for worker in itertools.islice(self._turns, self._num_workers):
            fair = self._in_order or self._load[worker] < self._ahead // sum(self._active)
            if self._active[worker] and fair:
                return worker
        return None

    # --- taking in batches --------------------------------------------------------------------

    @property
    def stopped(self) -> bool:
        """Whether the workers are gone."""
        return not self._stop.alive

    def _next_data(self) -> Any:
        if self._broken:
            raise RuntimeError(
                "DataLoader: this iterator's workers were stopped by an earlier error; make a "
                "new one with iter()"
            )
        if self.stopped:
            raise StopIteration
        try:
            return self._next_batch()
        except KeyboardInterrupt:
            # It may have been at work with a message, which nobody would send again.
            self._break()
            raise

    def _break(self) -> None:
        self._broken = True
        self._shutdown_workers()

    def _shutdown_workers(self) -> None:
        """Stop the workers: the pass has ended, and the next one has others."""
        self._stop()

    @property
    def _workers(self) -> list[Any]:
        """The workers' processes or threads, while they run."""
        found: list[Any] = self._pool.members
        return found

    def _next_batch(self) -> Any:
        while True:
            self._pass_ended()
            if self._due >= self._sent:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            ready = self._due
            if not self._in_order and ready not in self._arrived:
                ready = next(iter(self._arrived), -1)
            if ready in self._arrived:
                return self._deliver(ready)
            self._take_in(self._get_data())

    def _pass_ended(self) -> None:
        """Step over tasks that are done, and those of workers whose items have run out."""
        while self._due < self._sent and self._due not in self._arrived:
            worker = self._assigned.get(self._due)
            if worker is not None and self._active[worker]:
                return
            self._assigned.pop(self._due, None)
            self._due += 1

    def _take_in(self, results: Any) -> None:
        for worker, number, status, data in results:
            if number < self._first:
                continue
            if status == "end":
                self._active[worker] = False
                self._assigned.pop(number, None)
                if not self._persistent_workers:
                    self._pool.put(worker, "end")
                self._refill()
            else:
                self._arrived[number] = status, data

    def _deliver(self, number: int) -> Any:
        status, data = self._arrived.pop(number)
        self._load[self._assigned.pop(number)] -= 1
        if number == self._due:
            self._due += 1
        self._refill()
        if status == "error":
            data.reraise()
        return data()

    def _try_get_data(self, timeout: float = _PATIENCE) -> tuple[bool, Any]:
        """(whether results have come within so many seconds, these); RuntimeError where a worker has died."""
        try:
            found = self._pool.get(timeout, self._assigned[self._due])
        except BaseException:
            self._break()
            raise
        return bool(found), found

    def _get_data(self) -> Any:
        """Results, when some have come; RuntimeError after the loader's timeout."""
        start, limit = time.monotonic(), self._timeout or float("inf")
        patience, waited = self._watchdog or float("inf"), 0.0
        while True:
            success, found = self._try_get_data(max(0.0, min(_PATIENCE, limit - waited, patience - waited)))
            if success:
                return found
            waited = time.monotonic() - start
            if waited >= limit:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            if waited >= patience:
                patience = float("inf")
                self._warn_of_waiting(waited)

    def _warn_of_waiting(self, waited: float) -> None:
        worker = self._assigned[self._due]
        warn(
            f"DataLoader has waited {waited:.0f} s for a batch from worker {worker}, which is "
            f"here:\n{self._pool.stack(worker)}"
        )


def _worker_pool(kind: str) -> Any:
    if kind == "thread":
        # only the kind of workers that is asked for loads
        from rushlight.utils.data.threads import Threads

        return Threads
    try:
        # a platform may lack what it imports
        from rushlight.utils.data.processes import Processes
    except (ImportError, AttributeError) as error:
        raise NotImplementedError(
            'DataLoader: worker processes need a POSIX system; use worker="thread" '
            f"or num_workers=0 ({error})"
        ) from error
    return Processes
