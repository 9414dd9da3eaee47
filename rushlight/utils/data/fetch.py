"""Fetching: indices become a batch, in whichever process or thread asks.

Where items would be cut from tensors only to be stacked again, whole batches are gathered at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

import rushlight as torch
from rushlight.utils.data.collate import collate_tensor_fn, default_collate, default_collate_fn_map
from rushlight.utils.data.dataset import Subset, TensorDataset

_INTEGERS = {int, np.int64, np.int32}


@dataclass(frozen=True)
class Recipe:
    """How a loader makes batches; `batched`: an index is a list of them, collated."""

    dataset: Any
    iterable: bool
    batched: bool
    collate_fn: Any
    drop_last: bool

    def fetcher(self) -> MapFetcher | IterableFetcher:
        """What fetches for one pass over the dataset."""
        return IterableFetcher(self) if self.iterable else MapFetcher(self)


class MapFetcher:
    """Batches of a dataset with indices."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def fetch(self, index: Any) -> Any:
        """The batch of an index."""
        recipe = self._recipe
        if not recipe.batched:
            return recipe.collate_fn(recipe.dataset[index])
        found = rows(recipe, index)
        if found is not None:
            return found
        many = getattr(recipe.dataset, "__getitems__", None)
        return recipe.collate_fn(many(index) if many else [recipe.dataset[i] for i in index])


class IterableFetcher:
    """Batches of a dataset that only iterates; of an index, the length counts."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._items: Iterator[Any] = iter(recipe.dataset)
        self._ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch; StopIteration where there is none."""
        recipe = self._recipe
        if self._ended:
            raise StopIteration
        if not recipe.batched:
            return recipe.collate_fn(next(self._items))
        batch = list(islice(self._items, len(index)))
        self._ended = len(batch) < len(index)
        if not batch or (recipe.drop_last and len(batch) < len(index)):
            raise StopIteration
        return recipe.collate_fn(batch)


def sources(recipe: Recipe) -> Any:
    """The tensors of a plain TensorDataset and the index lists of Subsets around it, or None.

    None too where items are not simply stacked: another collate_fn, subclasses, gradients.
    """
    if (
        recipe.iterable
        or not recipe.batched
        or recipe.collate_fn is not default_collate
        or default_collate_fn_map.get(torch.Tensor) is not collate_tensor_fn
    ):
        return None
    dataset, through = recipe.dataset, []
    while type(dataset) is Subset:
        through.append(dataset.indices)
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset:
        return None
    tensors = dataset.tensors
    plain = all(type(t) is torch.Tensor and not t.requires_grad and t.is_cpu for t in tensors)
    return (tensors, through) if plain and tensors else None


def rows(recipe: Recipe, indices: Any) -> Any:
    """The batch of `indices`, if it is rows gathered from tensors; else None."""
    found = sources(recipe)
    if found is None or not indices:
        return None
    tensors, through = found
    for lengths in (*map(len, through), tensors[0].size(0)):
        chosen = _within(indices, lengths)
        if chosen is None:
            return None
        if through:
            level, *through = through
            indices = [level[i] for i in indices]
    chosen = torch.from_numpy(chosen)
    return [t.index_select(0, chosen) for t in tensors]


def _within(indices: Any, length: int) -> Any:
    """Indices as an array, if they are plain integers from 0 to `length`; else None."""
    if not set(map(type, indices)) <= _INTEGERS:
        return None
    array = np.array(indices, np.int64)
    return array if array.min() >= 0 and array.max() < length else None


class _BaseDatasetFetcher:
    """PyTorch's form of a fetcher: of a data set, whether an index is a list of them, a collate function."""

    _iterable = False

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn
        self.drop_last = drop_last
        self._own = Recipe(dataset, self._iterable, auto_collation, collate_fn, drop_last).fetcher()

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of an index."""
        return self._own.fetch(possibly_batched_index)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Of a data set with indices."""


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Of a data set that only iterates."""

    _iterable = True
