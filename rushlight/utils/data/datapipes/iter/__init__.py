"""Pipes of items one after the other (torch.utils.data.datapipes.iter); each is a method of all."""

from __future__ import annotations

import contextlib
import copy
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import rushlight as torch
from rushlight.utils.data.collate import default_collate
from rushlight.utils.data.datapipes._decorator import functional_datapipe
from rushlight.utils.data.datapipes.datapipe import IterDataPipe, described
from rushlight.utils.data.datapipes.iter.files import FileLister, FileOpener, StreamReader
from rushlight.utils.data.datapipes.utils.common import validate_input_col
from rushlight.utils.data.sampler import SequentialSampler

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker",
    "Grouper", "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter", "Shuffler",
    "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip
_Pipe = IterDataPipe[Any]


def _length(pipe: _Pipe, *sources: Any) -> list[int]:
    """The lengths of sources; TypeError where one has none."""
    if not all(isinstance(source, Sized) for source in sources):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return [len(source) for source in sources]


class IterableWrapperIterDataPipe(_Pipe):
    """An iterable as a pipe; deepcopy: each iterator has a copy of it."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            # What cannot be copied (a generator) is read as it is.
            with contextlib.suppress(TypeError):
                source = copy.deepcopy(source)
        yield from source

    def __len__(self) -> int:
        return _length(self, self.iterable)[0]


@functional_datapipe("map")
class MapperIterDataPipe(_Pipe):
    """fn(item); with columns (of tuples, lists or dicts) fn of these, put where output_col says."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
                 ) -> None:  # fmt: skip
        if output_col is not None and input_col is None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _applied(self, item: Any) -> Any:
        columns = self.input_col
        if columns is None:
            return self.fn(item)
        several = isinstance(columns, (list, tuple))
        found = self.fn(*(item[c] for c in columns)) if several else self.fn(item[columns])
        row = list(item) if isinstance(item, tuple) else copy.copy(item)
        if self.output_col is None:
            first, *rest = columns if several else [columns]
            row[first] = found
            for column in sorted(rest, reverse=True):
                del row[column]
        elif self.output_col == -1:
            row.append(found)
        else:
            row[self.output_col] = found
        return tuple(row) if isinstance(item, tuple) else row

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield self._applied(item)

    def __len__(self) -> int:
        return _length(self, self.datapipe)[0]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches put together."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        super().__init__(datapipe, collate_fn or conversion)


@functional_datapipe("filter")
class FilterIterDataPipe(_Pipe):
    """Items for which filter_fn(item), or of their column."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _kept(self, item: Any) -> bool:
        columns = self.input_col
        if columns is None:
            kept = self.filter_fn(item)
        elif isinstance(columns, (list, tuple)):
            kept = self.filter_fn(*(item[c] for c in columns))
        else:
            kept = self.filter_fn(item[columns])
        if not isinstance(kept, bool):
            raise ValueError(
                "Boolean output is required for `filter_fn` of FilterIterDataPipe, got " + str(type(kept))
            )
        return kept

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            if self._kept(item):
                yield item


@functional_datapipe("batch")
class BatcherIterDataPipe(_Pipe):
    """Lists of batch_size items; the last may be shorter, unless drop_last."""

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = list
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        (count,) = _length(self, self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(_Pipe):
    """The items of lists, unbatch_level deep (-1: to the bottom)."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _opened(self, item: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(item, list)):
            yield item
        elif not isinstance(item, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for inner in item:
                yield from self._opened(inner, level - (level > 0))

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield from self._opened(item, self.unbatch_level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(_Pipe):
    """Lists of items with the same group_key_fn(item), given out when they are group_size or the buffer is
    full.
    """

    def __init__(self, datapipe: Any, group_key_fn: Callable[[Any], Any], *, keep_key: bool = False,
                 buffer_size: int = 10000, group_size: int | None = None,
                 guaranteed_group_size: int | None = None, drop_remaining: bool = False) -> None:  # fmt: skip
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = buffer_size, group_size, drop_remaining
        self.guaranteed_group_size = guaranteed_group_size or group_size

    def __iter__(self) -> Iterator[Any]:
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        held = 0

        def out(key: Any) -> Any:
            found = groups.pop(key)
            return (key, found) if self.keep_key else found

        for item in self.datapipe:
            key = self.group_key_fn(item)
            groups[key].append(item)
            held += 1
            if self.group_size is not None and self.group_size == len(groups[key]):
                held -= self.group_size
                yield out(key)
            if held == self.buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                small = (
                    self.guaranteed_group_size is not None
                    and len(groups[largest]) < self.guaranteed_group_size
                )
                if small and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(groups[largest]))
                held -= len(groups[largest])
                found = out(largest)
                if not small:
                    yield found
        for key in list(groups):
            yield out(key)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(_Pipe):
    """Items in another order, drawn from a buffer of buffer_size of them by Python's generator, whose seed is
    torch's or set_seed's.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        import random

        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level)
        self.buffer_size, self._enabled = buffer_size, True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether the order is changed."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iterator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Seed the generator."""
        if self._enabled:
            seed = (
                int(torch.empty((), dtype=torch.int64).random_().item()) if self._seed is None else self._seed
            )
            self._rng.seed(seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        held: list[Any] = []
        for item in self.datapipe:
            if len(held) == self.buffer_size:
                place = self._rng.randint(0, len(held) - 1)
                found, held[place] = held[place], item
                yield found
            else:
                held.append(item)
        while held:
            yield held.pop(self._rng.randint(0, len(held) - 1))

    def __len__(self) -> int:
        return _length(self, self.datapipe)[0]


@functional_datapipe("sampling")
class SamplerIterDataPipe(_Pipe):
    """The indices that a sampler of the pipe gives."""

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None,
                 sampler_kwargs: Any = None) -> None:  # fmt: skip
        _length(self, datapipe)
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_Pipe):
    """Each num_of_instances-th item, from instance_id on; all until apply_sharding."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.num_of_instances, self.instance_id = source_datapipe, 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Say which share this is."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def is_shardable(self) -> bool:
        """That it may be cut into shares."""
        return True

    def __iter__(self) -> Iterator[Any]:
        for i, item in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        (count,) = _length(self, self.source_datapipe)
        return count // self.num_of_instances + (self.instance_id < count % self.num_of_instances)


# --- several pipes ------------------------------------------------------------------------------


class _Several(_Pipe):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError(f"Expected at least one DataPipe for {type(self).__name__}, but got nothing")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Several):
    """One pipe after the other."""

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_length(self, *self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(_Several):
    """Tuples of an item of each, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(self, *self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_Several):
    """An item of each in turn, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        for items in zip(*self.datapipes, strict=False):
            yield from items

    def __len__(self) -> int:
        return min(_length(self, *self.datapipes)) * len(self.datapipes)


_END = object()


class _ForkerIterDataPipe(_Pipe):
    """What the children of a pipe read together: each item goes into the queues of those it is for."""

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        self._clear()

    def _clear(self) -> None:
        self.queues: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self.items: Iterator[Any] = iter(())
        self.begun = [False] * self.num_instances

    def __getstate__(self) -> Any:
        held = ("queues", "items", "begun")  # a copy begins anew
        hook, state = type(self).getstate_hook, {n: v for n, v in self.__dict__.items() if n not in held}
        return state if hook is None else hook(state)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._clear()

    def of(self, item: Any) -> Iterable[int]:
        """The numbers of the children that get an item."""
        return range(self.num_instances)

    def begin(self, child: int) -> int | None:
        """A child begins; a second time, all begin anew, and their iterators end."""
        if not any(self.begun) or self.begun[child]:
            self._clear()
            self._begin()
            self.items = iter(self.main_datapipe)
        self.begun[child] = True
        return self._valid_iterator_id

    def read(self, child: int) -> Iterator[Any]:
        """The items of a child, which has begun."""
        while True:
            while not self.queues[child]:
                item = next(self.items, _END)
                if item is _END:
                    return
                for other in self.of(item):
                    self.queues[other].append(item)
                if 0 <= self.buffer_size < max(map(len, self.queues)):
                    raise BufferError(
                        f"{type(self).__name__[1:]} buffer overflow, buffer size {self.buffer_size} is "
                        "insufficient."
                    )
            yield self.queues[child].popleft()


class _DemultiplexerIterDataPipe(_ForkerIterDataPipe):
    """An item goes to one child."""

    def __init__(
        self, datapipe: Any, num_instances: int, classifier_fn: Any, drop_none: bool, buffer_size: int
    ) -> None:
        self.classifier_fn, self.drop_none = classifier_fn, drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def of(self, item: Any) -> Iterable[int]:
        """The child that the classifier says."""
        place = self.classifier_fn(item)
        if place is None and self.drop_none:
            return ()
        if place is None or not 0 <= place < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                f"{place} is returned."
            )
        return (place,)


class _Child(_Pipe):
    """One of the pipes that read another together."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: _ForkerIterDataPipe, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def _begin(self) -> int | None:
        self._number_of_samples_yielded = 0
        self._valid_iterator_id = self.main_datapipe.begin(self.instance_id)
        return self._valid_iterator_id

    def _check(self, number: int | None) -> None:
        if not self._valid_iterator_id == self.main_datapipe._valid_iterator_id == number:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from one of the "
                f"ChildDataPipes of {described(self.main_datapipe)}."
            )

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.read(self.instance_id)

    def __len__(self) -> int:
        return _length(self, self.main_datapipe.main_datapipe)[0]


def _children(shared: _ForkerIterDataPipe) -> list[_Child]:
    return [_Child(shared, i) for i in range(shared.num_instances)]


@functional_datapipe("fork")
class ForkerIterDataPipe(_Pipe):
    """num_instances pipes of the same items, which may be read at most buffer_size items apart."""

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(_Pipe):
    """num_instances pipes; classifier_fn(item) says which gets an item."""

    def __new__(cls, datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], int | None],
                drop_none: bool = False, buffer_size: int = 1000) -> Any:  # fmt: skip
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        return _children(
            _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        )


# The short names.
Batcher = BatcherIterDataPipe
Collator = CollatorIterDataPipe
Concater = ConcaterIterDataPipe
Demultiplexer = DemultiplexerIterDataPipe
Filter = FilterIterDataPipe
Forker = ForkerIterDataPipe
Grouper = GrouperIterDataPipe
IterableWrapper = IterableWrapperIterDataPipe
Mapper = MapperIterDataPipe
Multiplexer = MultiplexerIterDataPipe
Sampler = SamplerIterDataPipe
ShardingFilter = ShardingFilterIterDataPipe
Shuffler = ShufflerIterDataPipe
UnBatcher = UnBatcherIterDataPipe
Zipper = ZipperIterDataPipe
