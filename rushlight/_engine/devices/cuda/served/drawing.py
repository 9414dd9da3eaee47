"""Random choices by the device's kernels, from numbers that draws.py makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.served import functions
from rushlight._engine.devices.cuda.served.reductions import first_of


def _multinomial(
    backend: Any, weights: DeviceArray, count: int, replacement: bool = False, generator: Any = None
) -> DeviceArray:
    """One number of each row: the largest quotient by exponentials, as PyTorch draws it."""
    from rushlight._engine.devices.cuda import draws

    if count != 1 or not weights.size or backend.simulated:  # the simulator tells negative weights
        raise NotServed("more than one number of a row")
    room = backend.empty(weights.shape, weights.dtype, None, poison=False)
    q = draws.ROWS["exponential"](backend, room, 1.0, generator)
    ratio = functions.ufunc(backend, np.divide, (weights, q), {})
    result: DeviceArray = first_of(backend, "max", ratio, weights.ndim - 1)[1][..., None]
    return result


ROWS: dict[str, Callable[..., Any]] = {"multinomial": _multinomial}
