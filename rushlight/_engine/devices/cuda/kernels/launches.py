"""Kernels on a simulated device (`simulated,kernels`): which one serves a call, and its grid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import result_memory
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.kernels import writing
from rushlight._engine.devices.cuda.kernels.simulator import Kernel
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.target import Unsupported

# A grid of the simulator: few threads, since they take turns.
THREADS, BLOCKS = 64, 8


@cache
def _compiled(meaning: Meaning, rank: int, width: int, values: frozenset[str]) -> Kernel | None:
    """The kernel; None where there is no code for what it computes."""
    if not target.available():
        return None
    arrays = len(meaning.inputs) - len(values) + len(meaning.outputs)
    numbers = 1 + rank * (1 + arrays) + len(values)
    try:
        text, barriers = writing.pointwise(meaning, "simulated", rank, width, values)
        return Kernel(text, barriers, arrays, numbers)
    except Unsupported:
        return None


def pointwise(backend: Any, launch: Any, arrays: Sequence[Any], out: Any) -> Any:
    """The result of a pointwise kernel, queued; NotImplemented where no kernel serves."""
    meaning = launch.kernel.meaning
    if any(a.__class__ is not DeviceArray and a.ndim for a in arrays):
        return NotImplemented
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if 0 in shape or len(meaning.outputs) != 1:
        return NotImplemented
    values = frozenset(
        name for (name, _), a in zip(meaning.inputs, arrays, strict=True) if a.__class__ is not DeviceArray
    )
    there = [a for a in arrays if a.__class__ is DeviceArray]
    made = out
    if out is None:
        of = launch.result.np
        room = result_memory([backend.outline(a) for a in there], of, ())
        made = backend.empty(shape, of, None if room is None else room.strides, poison=False)
    elif made.shape != shape:
        return NotImplemented
    flat = all(a.shape == shape and a.flags.c_contiguous for a in (*there, made))
    width = writing.vector_width(meaning) if flat else 1
    if made.size % width:
        width = 1
    rank = 0 if flat else max(len(shape), 1)
    kernel = _compiled(meaning, rank, width, values)
    if kernel is None:
        return NotImplemented
    numbers = _numbers([*there, made], shape, rank, width)
    numbers += [_bits(a) for a in arrays if a.__class__ is not DeviceArray]
    _queue(backend, kernel, there, made, numbers, launch.kernel_name, out is None)
    return made


def _numbers(arrays: Sequence[DeviceArray], shape: tuple[int, ...], rank: int, width: int) -> list[int]:
    """A kernel's numbers but for the values: elements, sizes, strides."""
    numbers = [arrays[-1].size // width]
    if not rank:
        return numbers
    numbers += list(shape or (1,))
    for a in arrays:
        steps = [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
        numbers += [0] * (rank - len(steps)) + steps
    return numbers


def _bits(a: Any) -> int:
    return int.from_bytes(a.tobytes(), "little")


def _queue(
    backend: Any,
    kernel: Kernel,
    operands: Sequence[DeviceArray],
    made: DeviceArray,
    numbers: Sequence[int],
    what: str,
    fresh: bool,
) -> None:
    """Queue the grid; in strict mode it runs twice, in two orders of threads, which must agree."""
    addresses = [a.address + backend.memory.shift for a in (*operands, made)]
    threads = min(THREADS, -(-numbers[0] // 32) * 32)
    blocks = min(BLOCKS, -(-numbers[0] // threads))
    room = backend.outline(made)

    def work() -> None:
        kernel.run(blocks, threads, addresses, numbers)
        if backend.check is not None and fresh:
            first = room.copy()
            kernel.run(blocks, threads, addresses, numbers, turned=True)
            if first.tobytes() != room.tobytes():
                raise RuntimeError("the kernel's result depends on the order of its threads")

    backend._submit(work, what, operands, (made,))
