"""torch._utils: many tensors as one, and back, as libraries of data-parallel training have it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import rushlight as torch  # pickles of PyTorch, too, name constants by way of this module
from rushlight import cat, dtype
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.serialization.rebuild import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage,
    _rebuild_qtensor as _rebuild_qtensor,
    _rebuild_sparse_tensor as _rebuild_sparse_tensor,
    _rebuild_tensor as _rebuild_tensor,
    _rebuild_tensor_v2 as _rebuild_tensor_v2,
    _rebuild_tensor_v3 as _rebuild_tensor_v3,
)
from rushlight._engine.tensors.tensor import Tensor
from rushlight.nn.parameter import (
    _rebuild_parameter as _rebuild_parameter,
    _rebuild_parameter_with_state as _rebuild_parameter_with_state,
)

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "_rebuild_nested_tensor":  # few programs have nested tensors
        return import_module("rushlight.nested.strided_layout")._rebuild_nested_tensor
    return attribute("rushlight._utils", name)


def is_compiling() -> bool:
    """torch.compiler.is_compiling(), in its older place."""
    return torch.compiler.is_compiling()


def _is_privateuse1_backend_available() -> bool:
    """Whether a program has brought a device of its own; never, here."""
    return False


def _element_size(of: dtype) -> int:
    """Bytes of one element."""
    if not isinstance(of, dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(of)}")
    return of.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of tensors of one dtype in 1 dim; a view of a single contiguous one."""
    if len(tensors) == 1:
        return tensors[0].contiguous().view(-1)
    return cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` of the tensors' shapes, one after the other."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors))


class KeyErrorMessage(str):
    """A text that KeyError, which shows its argument's repr, shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the traceback's text of an exception, to be raised again in another thread or process.

    exc_info: as sys.exc_info() gives it, by default what is being handled. where: for the message.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise it here, with the other traceback in its message; RuntimeError if it takes no message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            found = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise found


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Tensors of one dtype in groups of at most `size_limit` bytes, as far as single ones fit."""
    waiting: dict[str, tuple[list[Tensor], int]] = {}
    for t in tensors:
        size = t.numel() * t.element_size()
        group, held = waiting.get(t.type(), ([], 0))
        if group and held + size > size_limit:
            yield group
            group, held = [], 0
        waiting[t.type()] = ([*group, t], held + size)
    yield from (group for group, _ in waiting.values() if group)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device beside the CPU, which has -1 where `allow_cpu`; of an int itself.

    optional: without a device the current one. ValueError for what has no number.
    """
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.index is not None:
            return int(device.index)
        device = None
    if isinstance(device, int):
        return device
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return int(torch.cuda.current_device()) if torch.cuda.is_available() else 0


def _get_available_device_type() -> str | None:
    """The sort of devices there are beside the CPU, None without any."""
    return "cuda" if torch.cuda.is_available() else None


def _get_device_module(device_type: str) -> Any:
    """The module torch.cpu, torch.cuda, ... of a sort of devices."""
    found = getattr(torch, device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return found


def _get_all_device_indices() -> list[int] | None:
    """The numbers of all devices, None without any."""
    return list(range(torch.cuda.device_count())) if torch.cuda.is_available() else None


def _get_devices_properties(device_ids: Iterable[int]) -> list[Any]:
    """What torch.cuda.get_device_properties() tells of each."""
    return [torch.cuda.get_device_properties(n) for n in device_ids]


def _handle_complex(tensor: Tensor) -> Tensor:
    """The tensor, as pairs of real numbers if it is complex."""
    plain = isinstance(tensor, torch.nn.UninitializedParameter) or not tensor.is_complex()
    return tensor if plain else torch.view_as_real(tensor)


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Tensors that are in order within their types, in the order of others of these types."""
    waiting: dict[str, list[Tensor]] = {}
    for t in tensors:
        waiting.setdefault(t.type(), []).append(t)
    coming = {name: iter(held) for name, held in waiting.items()}
    return tuple([next(coming[t.type()]) for t in ordered_tensors])
