"""Rows on a device beside the CPU: on its arrays, by its kernel or by a call of the row's body there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from rushlight._engine.core.recording import off_host
from rushlight._engine.dispatch.runners.meta import arrays_of, refuse_devices
from rushlight._engine.dispatch.runners.refused_dtypes import check_dtype
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.tensor import Tensor, wrap


def backend_of(values: Iterable[Any]) -> Any:
    """The device of the first operand that lies on one beside the CPU; None where none does."""
    for v in values:
        if isinstance(v, Tensor):
            if v._kind.backend is not None:
                return v._kind.backend
        elif v.__class__ in (list, tuple):
            found = backend_of(v)
            if found is not None:
                return found
    return None


def backend_run(backend: Any, row: Row, body: Callable[..., Any], values: Sequence[Any]) -> Any:
    """A row's results as tensors, or NotImplemented where the body is."""
    # Index tensors may lie on the CPU.
    placed = [v for p, v in zip(row.params, values, strict=True) if not (p.is_list and p.name == "indices")]
    refuse_devices(placed, row=row)
    first = values[0] if values else None
    if row.refuse_on_cuda and not row.refuse and isinstance(first, Tensor):  # others are checked before
        check_dtype(row.refuse_on_cuda, first._kind.dtype, first._memory)
    off_host("an op on a CUDA device")
    return as_tensors(backend.run_row(row, body, arrays_of(values)))


def brought(of: Kind, values: Sequence[Any]) -> Sequence[Any]:
    """Operands of a pointwise op on a device: those of the CPU that have dims are copied there."""
    if all(not isinstance(v, Tensor) or v._kind.backend is not None or not v._geometry.ndim for v in values):
        return values
    return [
        v.to(of.device) if isinstance(v, Tensor) and v._kind.backend is None and v._geometry.ndim else v
        for v in values
    ]


def as_tensors(found: Any) -> Any:
    """A device's results as tensors."""
    if hasattr(found, "handle"):
        return wrap(found)
    if isinstance(found, (tuple, list)):
        items = [as_tensors(f) for f in found]
        return items if isinstance(found, list) else tuple.__new__(found.__class__, items)
    return found


class Launch:
    """A pointwise kernel on a device: what stands for the kernel's functions in an Entry."""

    def __init__(self, backend: Any, kernel: Any, compute: partial[Any], there: Sequence[bool]) -> None:
        self.backend, self.kernel, self.compute = backend, kernel, compute
        self.result = compute.args[1]  # its kind
        self.kernel_name = "pointwise"
        self.there = there  # which of the operands lie on the device

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        return self.backend.run_pointwise(self, arrays, out)
