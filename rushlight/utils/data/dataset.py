"""Datasets: by index, by iteration, and combinations."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import rushlight as torch
from rushlight._engine.core.callers import deprecated, warn

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """A map from indices to items: subclass with __getitem__(index), usually __len__(), and perhaps
    __getitems__(indices).
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of items: subclass with __iter__(), which tells workers apart by get_worker_info()."""

    def __add__(self, other: Dataset[Any]) -> ChainDataset[Any]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset["tuple[torch.Tensor, ...]"]):
    """Tensors cut along their first dim: item i is a tuple of their i-th slices. AssertionError where first
    sizes differ.
    """

    def __init__(self, *tensors: torch.Tensor) -> None:
        if not all(tensors[0].size(0) == t.size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[torch.Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Items of several datasets side by side: tuples of positional ones, dicts of named ones; ValueError for
    both, or sizes that differ.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        held = list(args or kwargs.values())
        self._length = len(held[0])
        if any(len(d) != self._length for d in held):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        named = isinstance(self.datasets, dict)
        held = self.datasets.values() if named else self.datasets
        rows = zip(*(_items(d, indices) for d in held), strict=True)
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else list(rows)

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[Any]) -> Any:
    """Items of a dataset, by its own __getitems__ where it has one."""
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[i] for i in indices]
    found = many(indices)
    if len(found) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}")
    return found


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other; len() is the sum of theirs. AssertionError for none, or for an
    IterableDataset.
    """

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each of a sequence of datasets ends."""
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        place = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][idx - before]

    @property
    @deprecated("`cummulative_sizes` attribute is renamed to `cumulative_sizes`")
    def cummulative_sizes(self) -> list[int]:
        """cumulative_sizes by its older name."""
        return self.cumulative_sizes


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets: Iterable[Any] = datasets

    def __iter__(self) -> Iterator[T_co]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset[T_co]):
    """The items of a dataset at given indices."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        return many(chosen) if callable(many) else [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: torch.Generator | None = None
) -> list[Subset[T]]:
    """The dataset cut at random into subsets of given lengths, or fractions that sum to 1 (the rest goes
    round in turn).

    ValueError where lengths do not sum to the dataset's. `generator` draws the permutation, the default one
    if None.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _whole(dataset, lengths)
    sized: Any = dataset
    if sum(lengths) != len(sized):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    generator = torch.default_generator if generator is None else generator
    order = torch.randperm(int(sum(lengths)), generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths, strict=True)]


def _whole(dataset: Any, fractions: Sequence[float]) -> list[int]:
    sizes = []
    for i, f in enumerate(fractions):
        if f < 0 or f > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes.append(math.floor(len(dataset) * f))
    for i in range(len(dataset) - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, n in enumerate(sizes):
        if n == 0:
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return sizes
