"""Collating: a list of items becomes a batch.

`default_collate_fn_map` says who collates items of which type; programs may add to it.
"""

from __future__ import annotations

import collections.abc
import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import rushlight as torch

# By PyTorch's name: kinds of NumPy's that are no numbers.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
Collater = Callable[..., Any]
Collaters = Mapping[Any, Collater]


def default_convert(data: Any) -> Any:
    """NumPy arrays in nested containers as tensors; everything else as it is."""
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if np_str_obj_array_pattern.search(np.asarray(data).dtype.str) else torch.as_tensor(data)
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
            mapping = copy.copy(original)
            mapping.update(items)
            return mapping
        if isinstance(original, collections.abc.MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(items):
                clone[i] = value
            return clone
        return type(original)(items)
    except TypeError:
        return items


def collate(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Items as a batch, containers field by field, by the functions that a map names.

    collate_fn_map: type, or tuple of types, -> function(batch, collate_fn_map=map). The item's own
    type comes first, then the first key that it is an instance of. TypeError where nothing fits.
    """
    first = batch[0]
    chosen = _collater(first, collate_fn_map)
    if chosen is not None:
        return chosen(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        return _rebuilt(
            first, {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first}
        )
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(
            *(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False))
        )
    if isinstance(first, collections.abc.Sequence):
        if not all(len(item) == len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _rebuilt(first, columns)
    raise TypeError(_unknown(type(first)))


def _unknown(found: Any) -> str:
    return (
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


def _collater(item: Any, functions: Collaters | None) -> Collater | None:
    functions = functions or {}
    found = functions.get(type(item))
    return found or next((f for kind, f in functions.items() if isinstance(item, kind)), None)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Tensors of one shape, stacked along a new first dim."""
    return torch.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Arrays as tensors; TypeError for arrays of strings and objects."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(_unknown(batch[0].dtype))
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """NumPy's scalars in a tensor of their dtype."""
    return torch.as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Python floats in a float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Python ints in an int64 tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Texts as they are."""
    return batch


default_collate_fn_map: dict[Any, Collater] = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Items stacked along a new first dim: tensors, arrays, numbers, and containers of them."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
