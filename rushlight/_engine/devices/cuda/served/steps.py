"""Optimizers' steps by the device's kernels: each tensor's new values in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.kernels.loops.multi_tensor import Multi


def step(
    backend: Any,
    kernel: Any,
    arrays: Sequence[Sequence[Any]],
    numbers: Sequence[float],
    again: Callable[[], list[float]] | None = None,
) -> None:
    """Update every tensor in place: (parameter, gradient, states ...) of each.

    again: of a graph's replays, each of which has numbers of its own: the kernel reads them on the device.
    """
    if not isinstance(kernel, Multi):
        raise NotServed("a step of this kind")
    scalars: list[Any] = [np.asarray(n, np.float64) for n in numbers]
    if again is not None:
        memory = backend.capture.numbers(len(numbers), again)
        scalars = [memory[k] for k in range(len(numbers))]
    for each in arrays:
        if len({a.dtype for a in each}) != 1 or len({a.shape for a in each}) != 1:
            raise NotServed("states of another dtype or shape")
        if dt.from_numpy_dtype(each[0].dtype).is_complex:
            raise NotServed("complex parameters")
        of = kernel.kernel(each[0].dtype)
        results = [each[k] for k in of.targets]
        launches.into(backend, _meaning(of), (*each, *scalars), results, "optimizer step")


@cache
def _meaning(kernel: Any) -> Any:
    return kernel._meaning()
