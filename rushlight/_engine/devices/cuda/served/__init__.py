"""Rows, and NumPy's functions where the engine calls those, by the device's own kernels.

`row` gives a table row's function (device, *the body's arguments), None where no kernel serves it. `call` and
`write` serve functions of NumPy's that meet a DeviceArray. What a kernel does not serve in a special case
raises NotServed. The same functions serve real devices, and simulated ones under the option `kernels`.

Begin with reductions.py, then rowwise.py (softmax, norms). Nothing here writes kernels: kernels/ does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray, basic
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.numerics import advanced_indexing

# Modules of this folder that serve rows: each has a table ROWS.
_MODULES = (
    "moves",
    "products",
    "rowwise",
    "indexing",
    "drawing",
    "ordering",
    "windows",
    "selecting",
    "fourier",
    "attention",
    "solving",
    "alignments",
)
_rows: dict[str, Callable[..., Any]] = {}


def row(name: str) -> Callable[..., Any] | None:
    """The function that serves a row by kernels, None where there is none."""
    if not _rows:
        for module in _MODULES:
            _rows.update(import_module(f"{__name__}.{module}").ROWS)
    return _rows.get(name)


def names() -> set[str]:
    """The rows that kernels serve, beside pointwise ones and reductions."""
    row("")
    return set(_rows)


def call(backend: Device, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
    """A function of NumPy's on the device's arrays."""
    # a circle: the families import this package
    from rushlight._engine.devices.cuda.served import functions

    served = functions.FUNCTIONS.get(function)
    if served is not None:
        return served(backend, *args, **named)
    if isinstance(function, np.ufunc):
        return functions.ufunc(backend, function, args, named)
    raise NotServed(f"NumPy's {getattr(function, '__name__', function)}")


def write(backend: Device, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> None:
    """A function of NumPy's that writes into an array of the device."""
    # a circle: the families import this package
    from rushlight._engine.devices.cuda.served import functions

    if function is np.ndarray.__setitem__:
        target, place, value = args
        if not basic(place):
            functions.masked(backend, target, place, value)
            return
        assign(backend, target[place], value)
    elif function is np.ndarray.fill:
        assign(backend, args[0], args[1])
    elif function is np.copyto:
        assign(backend, args[0], args[1], **named)
    elif function is advanced_indexing.write:
        # a circle: the families import this package
        from rushlight._engine.devices.cuda.served import selecting

        selecting.write(backend, *args, **named)
    elif isinstance(function, np.ufunc):
        functions.ufunc(backend, function, args, named)
    else:
        raise NotServed(f"NumPy's {getattr(function, '__name__', function)}")


def assign(backend: Device, target: Any, value: Any, casting: str = "same_kind", where: Any = True) -> None:
    """target[...] = value."""
    if where is not True:
        raise NotServed("a copy with a mask")
    if value.__class__ is not DeviceArray:
        host = np.asarray(value)
        if host.size == 1:
            value = host.reshape(()).astype(target.dtype)
        else:
            buffer = backend.empty(host.shape, target.dtype, poison=False)
            backend.copy(buffer, host.astype(target.dtype), False, False)
            value = buffer
    launches.convert(backend, target, value)
