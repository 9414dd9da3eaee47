"""Kinds: one interned object per (dtype, device), which the door's tables are keyed by."""
from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.base import dtype as dt
from rushlight.base.device import CPU, META, device


class Kind:
    """The dtype and device of a tensor; compare by identity."""

    __slots__ = ("dtype", "device", "np", "on_meta")

    def __init__(self, dtype: dt.dtype, where: device) -> None:
        self.dtype, self.device, self.np = dtype, where, dtype.np
        self.on_meta = where.type == "meta"

    def __repr__(self) -> str:
        return f"Kind({self.dtype!r}, {self.device})"


_kinds: dict[tuple[str, str], Kind] = {}
# NumPy dtype -> the CPU kind; the hot look-up of wrap()
CPU_KINDS: dict[np.dtype[Any], Kind] = {}


def kind(dtype: dt.dtype, where: device = CPU) -> Kind:
    """The interned Kind."""
    key = (dtype.name, str(where))
    found = _kinds.get(key)
    if found is None:
        if where.type not in ("cpu", "meta"):
            raise unavailable(where)
        found = _kinds.setdefault(key, Kind(dtype, where))
    return found


def unavailable(where: device) -> Exception:
    """The error for a device that this build cannot use."""
    if where.type == "cuda":
        return AssertionError("Torch not compiled with CUDA enabled: this Rushlight runs on the CPU; "
                              "use device='cpu', or pick it by torch.cuda.is_available()")
    return RuntimeError(f"device {where} is not available in Rushlight; use device='cpu'")


for _d in dt.ALL:
    CPU_KINDS[_d.np] = kind(_d, CPU)
    kind(_d, META)
