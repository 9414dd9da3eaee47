"""Collating: a list of items becomes a batch."""
from __future__ import annotations

import collections.abc
import copy
import re
from typing import Any

import numpy as np

import rushlight as torch

_STRINGS = re.compile(r"[SaUO]")


def default_convert(data: Any) -> Any:
    """NumPy arrays in nested containers as tensors; everything else as it is."""
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if _STRINGS.search(np.asarray(data).dtype.str):
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuilt(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, [default_convert(d) for d in data])
    return data


def _rebuilt(original: Any, items: Any) -> Any:
    """A container of the original's type; a plain dict or list where it cannot be made."""
    try:
        if isinstance(original, collections.abc.MutableMapping):
            clone = copy.copy(original)
            clone.update(items)
            return clone
        if isinstance(original, collections.abc.MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(items):
                clone[i] = value
            return clone
        return type(original)(items)
    except TypeError:
        return items


def default_collate(batch: Any) -> Any:
    """Items stacked along a new first dim: tensors, arrays, numbers, and containers of them."""
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        return _collate_numpy(batch, first)
    if isinstance(first, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        return _rebuilt(first, {key: default_collate([d[key] for d in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        return _collate_sequence(batch, first)
    raise TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                    f"found {type(first)}")


def _collate_numpy(batch: Any, first: Any) -> Any:
    if isinstance(first, np.generic) and not isinstance(first, np.ndarray):
        return torch.as_tensor(np.array(batch))
    if _STRINGS.search(first.dtype.str):
        raise TypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
                        f"lists; found {first.dtype}")
    if first.shape == ():
        return torch.as_tensor(np.array(batch))
    return torch.stack([torch.as_tensor(b) for b in batch], 0)


def _collate_sequence(batch: Any, first: Any) -> Any:
    if not all(len(item) == len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = list(zip(*batch, strict=True))
    if isinstance(first, tuple):
        return [default_collate(column) for column in columns]
    return _rebuilt(first, [default_collate(column) for column in columns])
