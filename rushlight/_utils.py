"""torch._utils: many tensors as one, and back, as libraries of data-parallel training have it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any

import rushlight as torch  # noqa: F401  (pickles of PyTorch name constants by way of this module)
from rushlight import cat, dtype
from rushlight._engine.serialization.rebuild import (
    _rebuild_device_tensor_from_numpy as _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage,
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
