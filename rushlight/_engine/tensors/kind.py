"""Kinds: one interned object per (dtype, device, marks), which the dispatcher's tables are keyed by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core import accelerator, dtype as dt
from rushlight._engine.core.device import CPU, META, device

if TYPE_CHECKING:  # an interface to be checked against, which no program loads
    from rushlight._engine.core.backend import Backend


class Kind:
    """The dtype and device of a tensor, and how its memory is read; compare by identity.

    conj, neg: the values are the conjugates, the negatives of what lies in memory (tensors/lazy_views.py);
    lazy: either.  special: no short way takes such tensors.  plain: the kind without marks.
    backend: the device that owns the memory (devices/), None for the CPU's.  off_cpu: the CPU cannot read it.
    """

    __slots__ = (
        "dtype",
        "device",
        "np",
        "on_meta",
        "conj",
        "neg",
        "lazy",
        "special",
        "plain",
        "backend",
        "off_cpu",
    )

    def __init__(self, dtype: dt.dtype, where: device, conj: bool, neg: bool) -> None:
        self.dtype, self.device, self.np = dtype, where, dtype.np
        self.on_meta = where.type == "meta"
        self.conj, self.neg, self.lazy = conj, neg, conj or neg
        self.backend: Backend | None = backend_of(where) if where.type == "cuda" else None
        self.off_cpu = self.on_meta or self.backend is not None
        self.special = self.off_cpu or self.lazy
        self.plain: Kind = kind(dtype, where) if self.lazy else self

    def __repr__(self) -> str:
        return f"Kind({self.dtype!r}, {self.device})"


_kinds: dict[tuple[str, str, bool, bool], Kind] = {}
# NumPy dtype -> the CPU kind; the hot look-up of wrap()
CPU_KINDS: dict[np.dtype[Any], Kind] = {}


def kind(dtype: dt.dtype, where: device = CPU, conj: bool = False, neg: bool = False) -> Kind:
    """The interned Kind; an index of the device says nothing here, and is ignored."""
    if where.index is not None and where.type in ("cpu", "meta"):
        where = CPU if where.type == "cpu" else META
    key = (dtype.name, str(where), conj, neg)
    found = _kinds.get(key)
    if found is None:
        if where.type not in ("cpu", "meta"):
            numbered = available(where)
            if numbered != where:
                return kind(dtype, numbered, conj, neg)
        found = _kinds.setdefault(key, Kind(dtype, where, conj, neg))
    return found


def backend_of(where: device) -> Backend:
    """What owns the memory of a device beside the CPU; the error that says why there is none."""
    platform = accelerator.platform() if where.type == "cuda" else None
    if platform is None:
        raise unavailable(where)
    return platform.backend(where)


def available(where: device) -> device:
    """A device beside the CPU, numbered; the error that says why it is none."""
    return backend_of(where).where


def unavailable(
    where: device, kind: type[Exception] = AssertionError, words: str = "Torch not compiled with CUDA enabled"
) -> Exception:
    """The error for a device that this build cannot use; kind and words: what PyTorch says of CUDA."""
    if where.type == "cuda":
        return kind(
            f"{words}: this Rushlight runs on the CPU; use device='cpu', or pick it by "
            "torch.cuda.is_available()"
        )
    if where.type in ("xpu", "mtia"):
        return AssertionError(
            f"Torch not compiled with {where.type.upper()} enabled: Rushlight has no such device; "
            "use device='cpu'"
        )
    return RuntimeError(
        f"PyTorch is not linked with support for {where.type} devices: Rushlight has none; use device='cpu'"
    )


for _d in dt.ALL:
    CPU_KINDS[_d.np] = kind(_d, CPU)
    kind(_d, META)
