"""Tensors from Python data: torch.tensor, as_tensor, asarray."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.device import device as _device
from rushlight.tensor.bridge import from_numpy
from rushlight.tensor.construct import infer
from rushlight.tensor.kind import unavailable
from rushlight.tensor.queries import get_default_device
from rushlight.tensor.tensor import Tensor, wrap

_BUILTIN = {float: dt.float64, int: dt.int64, bool: dt.bool_, complex: dt.complex128}


def _dtype(dtype: Any) -> Any:
    return _BUILTIN.get(dtype, dtype) if isinstance(dtype, type) else dtype


def _placed(t: Tensor, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    where = get_default_device() if device is None else _device(device)
    if where.type not in ("cpu", "meta"):
        raise unavailable(where)
    if pin_memory:
        raise RuntimeError("Need to provide pin_memory allocator to use pin memory: there is no CUDA "
                           "here, leave pin_memory away")
    if where.type == "meta":
        t = t.to(where)
    return t.requires_grad_() if requires_grad else t


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new leaf with a copy of data (numbers, nested sequences, arrays, tensors).

    The dtype is inferred unless given: bool, int64, the default floating dtype, or its complex twin.
    """
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach()."
                      "clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
                      "torch.tensor(sourceTensor).", UserWarning, stacklevel=2)
        made = data.detach().clone()
        made = made if dtype is None else made.to(_dtype(dtype))
        return _placed(made, data.device if device is None else device, requires_grad, pin_memory)
    return _placed(wrap(infer(data, _dtype(dtype))), device, requires_grad, pin_memory)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """data as a tensor, sharing memory (and the graph) where no conversion is needed."""
    if isinstance(data, Tensor):
        wanted = data.dtype if dtype is None else _dtype(dtype)
        return data.to(data.device if device is None else _device(device), wanted)
    if isinstance(data, np.ndarray):
        found = from_numpy(data)
        return _placed(found if dtype is None else found.to(_dtype(dtype)), device, False, False)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """obj as a tensor: shared where possible, always (copy=False) or never (copy=True)."""
    if isinstance(obj, np.generic):
        obj = np.asarray(obj)
    shared = isinstance(obj, (Tensor, np.ndarray))
    found = as_tensor(obj, dtype, device)
    if isinstance(obj, Tensor) and not requires_grad:
        found = found.detach() if found.requires_grad else found
    same = shared and found.data_ptr() == as_tensor(obj).data_ptr()
    if copy is False and not same:
        raise ValueError("can't alias an arbitrary sequence or change its dtype into a tensor: leave "
                         "copy=False away")
    if copy and same:
        found = found.detach().clone()
    return found.detach().requires_grad_() if requires_grad else found
