"""torch._refs: in PyTorch a second implementation of its ops, in Python.

Here an op has one meaning, its row, in Python as well: the reference of an op is the op.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import lookup
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.tensors.tensor import Tensor

_PARTS = ("_conversions", "fft", "linalg", "nn", "special")
_REVERSED = {"rpow": "__rpow__", "rtruediv": "__rtruediv__", "rfloordiv": "__rfloordiv__"}
# Functions that are no ops, and methods.
_OTHERS = frozenset(
    "to item T contiguous broadcast_shapes broadcast_tensors block_diag meshgrid empty empty_like "
    "empty_strided empty_permuted full ones zeros eye arange linspace logspace randn scalar_tensor equal "
    "allclose is_complex".split()
)


def functions_of(name: str, module: ModuleType) -> Callable[[str], Any]:
    """`__getattr__` of the module torch._refs.NAME, whose references are a module's functions."""

    def find(own: str) -> Any:
        found = None if own.startswith("__") else getattr(module, own, None)
        return attribute(name, own) if found is None else found

    return find


def trunc_divide(a: Any, b: Any) -> Any:
    """The quotient without its fraction."""
    return torch.div(a, b, rounding_mode="trunc")


def copy_to(a: Any, b: Any, *, allow_cross_device: bool = True) -> Any:
    """Write one tensor's numbers into another; RuntimeError where they lie on two devices and may not."""
    if not allow_cross_device and a.device != b.device:
        raise RuntimeError(
            f"Attempting to copy from device {b.device} to device {a.device}, but cross-device copies are "
            "not allowed!"
        )
    return a.copy_(b)


def swap_axes(a: Any, axis0: int, axis1: int) -> Any:
    """Two dims in each other's places."""
    return torch.transpose(a, axis0, axis1)


def has(name: str) -> bool:
    """Whether there is a reference of this name."""
    known = name in _OTHERS or name in _REVERSED
    return known or lookup("torch", name) is not None or lookup("Tensor", name) is not None


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name.startswith("__") or not has(name):
        return attribute(__name__, name)
    found = getattr(Tensor, _REVERSED.get(name, name), None)
    if found is None:
        found = getattr(torch, name, None)
    if found is None:
        return attribute(__name__, name)
    return found if callable(found) else found.__get__
