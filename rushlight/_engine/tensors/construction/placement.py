"""Where and how a new tensor is made: the keywords device, layout, pin_memory, requires_grad."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core import accelerator, dtype as dt
from rushlight._engine.core.device import device
from rushlight._engine.core.errors import missing
from rushlight._engine.tensors.kind import available
from rushlight._engine.tensors.tensor import Tensor


def refuse_placement(where: device | None, layout: Any = None, pin_memory: bool = False) -> None:
    """Raise for devices, layouts and pinned memory that do not exist here."""
    if where is not None and where.type not in ("cpu", "meta"):
        available(where)
        if pin_memory:
            raise RuntimeError(
                f"Only dense CPU tensors can be pinned: leave pin_memory away with device={where}"
            )
    if layout is not None and layout.name != "strided":
        missing(f"layout={layout}", "leave layout away: tensors are strided")
    if pin_memory and accelerator.platform() is None:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no "
            "pinned memory allocator is available on this system: leave it away."
        )


def track(t: Tensor) -> Tensor:
    """A fresh tensor as a leaf that requires grad."""
    if t._kind.dtype.category < dt.FLOATING:
        raise RuntimeError(
            f"Only Tensors of floating point and complex dtype can require gradients, got {t._kind.dtype}"
        )
    return t.requires_grad_()


def checked_dtype(op: str, dtype: Any) -> dt.dtype | None:
    """A dtype argument; Python's float, int, bool, complex stand for 64-bit dtypes and bool."""
    if dtype is None or isinstance(dtype, dt.dtype):
        return dtype
    found = dt.OF_PYTHON.get(dtype) if isinstance(dtype, type) else None
    if found is None:
        raise TypeError(f"{op}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


def checked_device(op: str, where: Any) -> device | None:
    """A device argument: None, a device, its name or an index."""
    if where is None or isinstance(where, device):
        return where
    if not isinstance(where, (str, int)) or isinstance(where, bool):
        raise TypeError(f"{op}(): argument 'device' must be torch.device, not {type(where).__name__}")
    return device(where)


def checked_flag(op: str, name: str, value: Any) -> bool:
    """A bool argument, which must be one."""
    if not isinstance(value, bool):
        raise TypeError(f"{op}(): argument '{name}' must be bool, not {type(value).__name__}")
    return value
