"""Rows on the meta device: shapes, strides and dtypes without data."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from rushlight._engine.core.device import META
from rushlight._engine.dispatch.interpreters import CLASSES
from rushlight._engine.ops import table
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, wrap

# Where the rows' bodies lie.
_BODIES = os.path.dirname(table.__file__) + os.sep


def meta_run(row: Row, body: Callable[..., Any], values: Sequence[Any]) -> Any:
    """The result's geometry: by the row's shape rule, or by running its body on small stand-ins."""
    refuse_devices(_placed(row, values))
    refuse_meta(row)
    if row.meta is not None:
        return as_meta(row.meta(*values))
    if row.kind == "contract" and (resolve := getattr(body, "resolve", None)) is not None:
        shape = _contracted(row, values)
        if shape is not None:
            resolve(*arrays_of(values))  # for its checks: no element is looked at
            return wrap(meta_array(shape, values[0]._kind.np), values[0]._kind)
    with np.errstate(all="ignore"):
        # Meta arrays read as zeros without memory behind them, so a body can run on them.
        found = body(*arrays_of(values))
    return as_meta(found)


# Rows whose indices may lie on the CPU where what they read or write is on the meta device.
_BY_INDICES = frozenset(
    "_bag_numbers _summed embedding gather index_select index_put scatter scatter_add scatter_reduce "
    "take".split()
)


def _placed(row: Row, values: Sequence[Any]) -> Sequence[Any]:
    """The operands that must lie on one device."""
    if row.name not in _BY_INDICES:
        return values
    return [v for v in values if not is_index_beside_meta(v, values)]


def is_index_beside_meta(value: Any, values: Sequence[Any]) -> bool:
    """Whether a value is a tensor of indices on the CPU, or several, and others have no memory."""
    several = value if isinstance(value, (list, tuple)) else (value,)
    indices = [v for v in several if isinstance(v, Tensor)]
    if not indices or any(v._kind.on_meta or v._kind.dtype.category > 1 for v in indices):
        return False
    return any(isinstance(v, Tensor) and v._kind.on_meta for v in values)


def _contracted(row: Row, values: Sequence[Any]) -> tuple[int, ...] | None:
    """The shape of a contraction by its labels; None where operands have other dims than these say."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    given, _, wanted = row.body(*[v._geometry.shape for v in tensors]).partition("->")
    sizes: dict[str, int] = {}
    lead: list[tuple[int, ...]] = []
    for labels, t in zip(given.split(","), tensors):
        shape, own = t._geometry.shape, labels.removeprefix("...")
        rest = len(shape) - len(own)
        if rest < 0 or (rest and own == labels):
            return None
        lead.append(shape[:rest])
        sizes.update(zip(own, shape[rest:], strict=True))
    try:
        batch = np.broadcast_shapes(*lead)
    except ValueError:
        return None  # the body says so in PyTorch's words
    return (*batch, *[sizes[label] for label in wanted.removeprefix("...")])


def refuse_devices(values: Sequence[Any], pointwise: bool = False, row: Row | None = None) -> None:
    """RuntimeError unless the tensors lie on one device; one of the CPU without dims goes with any other.

    The words are those of PyTorch's pointwise ops on meta, of a row's kernel on CUDA, or those of the others.
    """
    if not CLASSES.below:
        return  # an op on wrappers, which lie nowhere, beside tensors that do
    found = _two_devices(values)
    if found is None or not _brought(values):
        return
    one, two = found
    if row is not None:
        raise RuntimeError(
            import_module("rushlight._engine.dispatch.device_words").two_devices(row, values, found)
        )
    if pointwise:
        raise RuntimeError(f"Tensor on device {two} is not on the expected device {one}!")
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {two}!"
    )


def _two_devices(values: Iterable[Any]) -> tuple[Any, Any] | None:
    """The first tensor's device and another's that differs, or None."""
    tensors = [
        v
        for value in values
        for v in (value if value.__class__ in (list, tuple) else (value,))
        if isinstance(v, Tensor)
    ]
    placed = [v._kind.device for v in tensors if v._geometry.ndim or v._kind.on_meta]
    return next(((placed[0], other) for other in placed[1:] if other != placed[0]), None)


def _brought(values: Sequence[Any]) -> bool:
    """Whether the program brought these operands; what a row's body makes itself lies on the CPU.

    Asked only where devices differ: the outermost running body's arguments tell.
    """
    outermost = None
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_BODIES) and not file.endswith("table.py"):
            outermost = frame
        frame = frame.f_back
    if outermost is None:
        return True
    code = outermost.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    given = [outermost.f_locals.get(name) for name in code.co_varnames[:count]]
    return _two_devices(given) is not None


def refuse_meta(row: Row) -> None:
    """Raise what PyTorch says of an op whose result, or whose checks, depend on numbers."""
    words = row.refuse.get("meta", "")
    if words:
        raise (
            RuntimeError(words)
            if "item" in words
            else NotImplementedError(f"aten::{row.name.lstrip('_')}: {words}")
        )


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """Arguments with arrays in the place of tensors."""
    return [
        v._array
        if isinstance(v, Tensor)
        else [arrays_of([i])[0] for i in v]
        if isinstance(v, list)
        else tuple([arrays_of([i])[0] for i in v])
        if v.__class__ is tuple
        else v
        for v in values
    ]


def as_meta(found: Any) -> Any:
    """An array-level result as tensors without data."""
    if isinstance(found, Tensor):
        return found
    if isinstance(found, (np.ndarray, np.generic)):
        a = np.asarray(found)
        t = wrap(a)
        strides = tuple(s // a.itemsize for s in a.strides)
        return wrap(meta_array(a.shape, a.dtype, strides), kind(t._kind.dtype, META))
    if isinstance(found, tuple) and type(found) is not tuple:
        return type(found)(*[as_meta(f) for f in found])
    if isinstance(found, (tuple, list)):
        return type(found)(as_meta(f) for f in found)
    return found
