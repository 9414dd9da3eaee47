"""State dicts as a whole: gathered, on the CPU, copied into others (torch.distributed._state_dict_utils)."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.checkpoint._nested_dict import (
    flatten_state_dict as _flatten_state_dict,
    unflatten_state_dict as _unflatten_state_dict,
)
from rushlight.distributed.tensor.dtensor import DTensor

__all__ = ["_flatten_state_dict", "_unflatten_state_dict"]
_PLAIN = (int, float, str, bytes, io.BytesIO, type(None))


class CompanionMismatch(Exception):
    """Two state dicts are not of the same structure."""


def _mapped(
    value: Any, fn: Callable[[Any, Any], Any], other: Any, ranks: tuple[int, ...], group: Any, check: bool
) -> Any:
    """A structure with fn(tensor, the tensor of `other` at its place); on other ranks than `ranks`, if any,
    without values.
    """
    apart = bool(ranks) and dist.get_rank(group) not in ranks
    return _mapped_part(fn, apart, check, value, other)


def _mapped_part(fn: Callable[[Any, Any], Any], apart: bool, check: bool, value: Any, other: Any) -> Any:
    mapped = partial(_mapped_part, fn, apart, check)
    if isinstance(value, torch.Tensor):
        found: Any = fn(value, other)
    elif isinstance(value, _PLAIN):
        found = value
    elif isinstance(value, dict):
        if other is not None and (not isinstance(other, dict) or set(other) != set(value)):
            keys = "" if isinstance(other, dict) else f"{other=} {set(value.keys())=}"
            raise CompanionMismatch(keys)
        found = {key: mapped(item, None if other is None else other[key]) for key, item in value.items()}
    elif isinstance(value, (list, tuple)):
        if other is not None and (not isinstance(other, (list, tuple)) or len(other) != len(value)):
            raise CompanionMismatch
        places = [None] * len(value) if other is None else other
        found = [mapped(item, beside) for item, beside in zip(value, places, strict=True)]
        found = tuple(found) if isinstance(value, tuple) else found
    elif check:
        raise ValueError(f"Unexpected value type {type(value)}")
    else:
        found = copy.deepcopy(value)
    if apart:
        return {} if isinstance(found, dict) else None
    return found


def _gather_state_dict(
    state_dict: dict[str, Any],
    *,
    pg: Any = None,
    device: Any = None,
    cpu_offload: bool = False,
    ranks_only: tuple[int, ...] = (),
    type_check: bool = True,
) -> Any:
    """A state dict with whole tensors in the place of DTensors; collective.

    cpu_offload: tensors are moved to the CPU. ranks_only: which ranks get values; all by default.
    """
    wanted = not ranks_only or dist.get_rank(pg) in ranks_only

    def whole(t: Any, _: Any) -> Any:
        found = t.full_tensor() if isinstance(t, DTensor) else t
        return found.to("cpu") if cpu_offload and wanted else found

    return _mapped(state_dict, whole, None, ranks_only, pg, type_check)


def _offload_state_dict_to_cpu(
    state_dict: dict[str, Any], *, ranks_only: tuple[int, ...] = (), type_check: bool = True
) -> Any:
    """A state dict whose tensors are on the CPU, on these ranks."""
    wanted = not ranks_only or dist.get_rank() in ranks_only
    return _mapped(state_dict, lambda t, _: t.to("cpu") if wanted else t, None, ranks_only, None, type_check)


def _copy_state_dict(
    state_dict: dict[str, Any],
    copy_state_dict: dict[str, Any],
    non_blocking: bool = False,
    type_check: bool = True,
) -> Any:
    """Copy tensors into those of another state dict of the same structure; a state dict of the latter."""

    def copied(t: Any, into: Any) -> Any:
        if isinstance(into, DTensor):
            into.to_local().copy_(t.to_local(), non_blocking=non_blocking)
        else:
            into.copy_(t, non_blocking=non_blocking)
        return into

    with torch.no_grad():
        return _mapped(state_dict, copied, copy_state_dict, (), None, type_check)


def _create_cpu_state_dict(
    state_dict: dict[str, Any], pin_memory: bool = False, share_memory: bool = False
) -> Any:
    """A state dict of the same structure with new tensors on the CPU, to copy into."""

    def memory(t: Any) -> Any:
        if t.ndim == 0:
            return torch.tensor(0, dtype=t.dtype)
        made = torch.zeros(tuple(t.shape), dtype=t.dtype)
        if share_memory:
            return made.share_memory_()
        return made.pin_memory() if pin_memory and t.numel() else made

    def made(t: Any, _: Any) -> Any:
        return t._state(memory(t.to_local().detach())) if isinstance(t, DTensor) and t.ndim else memory(t)

    with torch.no_grad():
        return _mapped(state_dict, made, None, (), None, False)


def _check_state_dict_similarity(state_dict: dict[str, Any], compared_state_dict: dict[str, Any]) -> bool:
    """Whether two state dicts have the same structure, and tensors of the same dtypes and sizes."""

    def compared(t: Any, other: Any) -> Any:
        if other.dtype != t.dtype or other.size() != t.size():
            raise CompanionMismatch
        return t

    try:
        _mapped(state_dict, compared, compared_state_dict, (), None, False)
    except CompanionMismatch:
        return False
    return True
