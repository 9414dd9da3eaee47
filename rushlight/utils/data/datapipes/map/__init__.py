"""Pipes of items by index or key (torch.utils.data.datapipes.map); each is a method of all."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sized
from typing import Any

import rushlight as torch
from rushlight.utils.data.datapipes._decorator import functional_datapipe
from rushlight.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
_Pipe = MapDataPipe[Any]


class SequenceWrapperMapDataPipe(_Pipe):
    """A sequence or mapping as a pipe; deepcopy: of a copy."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(_Pipe):
    """fn(item)."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any] = lambda x: x) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


class _Several(_Pipe):
    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        if not all(isinstance(pipe, Sized) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Several):
    """One pipe after the other, by numbers from 0 on."""

    def __getitem__(self, index: Any) -> Any:
        place = index
        for pipe in self.datapipes:
            if place < len(pipe):
                return pipe[place]
            place -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(_Several):
    """Tuples of an item of each, until the shortest ends."""

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("batch")
class BatcherMapDataPipe(_Pipe):
    """Lists of batch_size items; the last may be shorter, unless drop_last."""

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = list
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: Any) -> Any:
        begin, end = index * self.batch_size, (index + 1) * self.batch_size
        last = min(end, len(self.datapipe))
        if begin >= last or (last < end and self.drop_last):
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[i] for i in range(begin, last)])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class ShufflerIterDataPipe(torch.utils.data.IterDataPipe[Any]):
    """The items in another order, by Python's generator, whose seed is torch's or set_seed's: a pipe of items
    one after the other.
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        import random

        self.datapipe, self.indices = datapipe, list(range(len(datapipe))) if indices is None else indices
        self._enabled, self._rng = True, random.Random()
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether the order is changed."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next iterator."""
        self._seed = seed
        return self

    def __iter__(self) -> Any:
        order = list(self.indices)
        if self._enabled:
            seed = self._seed
            self._seed = None
            self._rng.seed(int(torch.empty((), dtype=torch.int64).random_().item()) if seed is None else seed)
            order = self._rng.sample(order, len(order))[::-1]
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)

# The short names.
Batcher = BatcherMapDataPipe
Concater = ConcaterMapDataPipe
Mapper = MapperMapDataPipe
SequenceWrapper = SequenceWrapperMapDataPipe
Zipper = ZipperMapDataPipe
Shuffler = ShufflerIterDataPipe
