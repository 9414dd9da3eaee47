"""Optimizers' steps by the device's kernels: each tensor's new values in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches, many
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.kernels.loops.multi_tensor import MultiTensorUpdate

# How many tensors a launch updates.
MOST = 16


def step(
    backend: Device,
    kernel: Any,
    arrays: Sequence[Sequence[Any]],
    numbers: Sequence[float],
    again: Callable[[], list[float]] | None = None,
) -> None:
    """Update every tensor in place: (parameter, gradient, states ...) of each.

    again: of a graph's replays, each of which has numbers of its own: the kernel reads them on the device.
    """
    if not isinstance(kernel, MultiTensorUpdate):
        raise NotServed("a step of this kind")
    scalars: list[Any] = [np.asarray(n, np.float64) for n in numbers]
    memory = None
    if again is not None and numbers:
        memory = backend.capture.numbers(len(numbers), again)
        scalars = [memory[k] for k in range(len(numbers))]
    if _in_batches(backend, kernel, arrays, scalars, memory):
        return
    for each in arrays:
        if len({a.dtype for a in each}) != 1 or len({a.shape for a in each}) != 1:
            raise NotServed("states of another dtype or shape")
        if dt.from_numpy_dtype(each[0].dtype).is_complex:
            raise NotServed("complex parameters")
        of = kernel.kernel(each[0].dtype)
        results = [each[k] for k in of.targets]
        launches.into(backend, _meaning(of), (*each, *scalars), results, "optimizer step")


def _in_batches(
    backend: Device,
    kernel: MultiTensorUpdate,
    arrays: Sequence[Sequence[DeviceArray]],
    scalars: Sequence[Any],
    memory: Any,
) -> bool:
    """Update tensors by launches for MOST of them; whether their layouts allow it.

    memory: the device's array that holds the scalars, None where they are the host's.
    """
    if len(arrays) < 2 or not all(map(_alike, arrays)) or len({each[0].dtype for each in arrays}) != 1:
        return False
    of = kernel.kernel(arrays[0][0].dtype)
    given = [each for each in arrays if each[0].size]
    for first in range(0, len(given), MOST):
        _batch(backend, of, given[first : first + MOST], scalars, memory)
    return True


def _alike(each: Sequence[DeviceArray]) -> bool:
    """Whether arrays lie in one dense layout, and are of one dtype that kernels compute."""
    a = each[0]
    return (
        a.dense
        and all([x.shape == a.shape and x.strides == a.strides and x.dtype == a.dtype for x in each])
        and not dt.from_numpy_dtype(a.dtype).is_complex
    )


def _batch(
    backend: Device, of: Any, arrays: Sequence[Sequence[DeviceArray]], scalars: Sequence[Any], memory: Any
) -> None:
    count = 1 << (len(arrays) - 1).bit_length()  # few kernels for all numbers of tensors
    every = [*arrays, *[arrays[-1]] * (count - len(arrays))]
    blocks, numbers = 0, list[int]()
    for each in arrays:
        numbers += [each[0].size, blocks]
        blocks += -(-each[0].size // many.CHUNK)
    numbers += [0, blocks] * (count - len(arrays))
    numbers = [blocks, *numbers, *([launches.bits(s) for s in scalars] if memory is None else ())]
    pointers = [*[a for each in every for a in each], *(() if memory is None else (memory,))]
    arguments = (_meaning(of), tuple(of.scalars), tuple(of.targets), count, memory is not None)
    source = Source(many.updates, arguments, len(pointers), len(numbers))
    written = {each[k].address for each in arrays for k in of.targets}
    # All arrays are handed over in their places; which of them are written to is the strict mode's to know.
    backend.launch(
        source, backend.blocks(blocks, many.CHUNK), pointers, (), numbers, "optimizer step", written
    )


@cache
def _meaning(kernel: Any) -> Any:
    return kernel._meaning()
