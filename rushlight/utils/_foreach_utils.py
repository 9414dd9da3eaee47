"""What optimizers of others ask before they take the `_foreach_` functions: groups of tensors, and where
these functions are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch

_Groups = dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]


_foreach_supported_types: list[type] = [torch.Tensor, torch.nn.Parameter]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices whose `_foreach_` functions are one kernel, in PyTorch."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices that have whole optimizers' steps as one kernel, in PyTorch."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> _Groups:
    """Lists of tensors (or None) of one length, as such lists for each (device, dtype) of the first list's
    tensors; the second part of a value are the places in the lists, none unless with_indices.

    RuntimeError where the first list has None, or is empty or of another length than others.
    """
    first = tensorlistlist[0]
    if not all(isinstance(tensor, torch.Tensor) for tensor in first):
        raise RuntimeError("the first list must hold tensors only")
    if any(len(tensors) not in (0, len(first)) for tensors in tensorlistlist):
        raise RuntimeError(f"lists of one length expected, got {[len(t) for t in tensorlistlist]}")
    found: _Groups = {}
    for place, tensor in enumerate(first):
        key = (tensor.device, tensor.dtype)
        lists, places = found.setdefault(key, ([[] for _ in tensorlistlist], []))
        for group, tensors in zip(lists, tensorlistlist, strict=True):
            if len(tensors):
                group.append(tensors[place])
        if with_indices:
            places.append(place)
    return found


def _device_has_foreach_support(device: Any) -> bool:
    """Whether `_foreach_` functions take tensors of a device."""
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"] and not torch.jit.is_scripting()


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    """The same, for tensors of no other classes than Tensor and Parameter (None does not count)."""
    plain = (torch.Tensor, torch.nn.Parameter)
    return _device_has_foreach_support(device) and all(t is None or type(t) in plain for t in tensors)
