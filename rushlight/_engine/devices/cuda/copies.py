"""Copies between the host and devices, and between devices.

A copy from page-locked memory that need not be waited for reads it when the stream gets there: what the
program writes there before that is what arrives. One to page-locked memory arrives then. All other copies are
done, as far as the host can see, when they return.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.layout import format_strides
from rushlight._engine.devices.cuda.array import DeviceArray, row_strides

Array = np.ndarray[Any, Any]


def copy(backend: Any, target: Any, source: Any, non_blocking: bool, pinned: bool) -> None:
    """target[...] = source, of one dtype and shape; one of them is an array of another device or the host's.

    pinned: whether the host's memory is page-locked.
    """
    late = non_blocking and pinned
    if backend.capture is not None and not late and np.ndarray in (source.__class__, target.__class__):
        raise backend.capture.refused("a copy that the host waits for")
    if not non_blocking and np.ndarray in (source.__class__, target.__class__):
        backend.waited()
    if source.__class__ is np.ndarray:
        given = source if late else source.copy("K")
        written = backend.outline(target)
        backend._submit(lambda: np.copyto(written, given), "copy to the device", (), (target,))
        if pinned and not late:
            backend.stream.run()
    elif target.__class__ is np.ndarray:
        given = backend.outline(source)
        backend._submit(lambda: np.copyto(target, given), "copy to the host", (source,), ())
        if not late:
            backend.stream.run()
            backend.alive()
    else:
        _across(backend, target, source)


def _across(backend: Any, target: DeviceArray, source: DeviceArray) -> None:
    """From one device to another: the streams of both wait for each other."""
    there = source.device
    given, written = there.outline(source), backend.outline(target)
    backend.stream.wait_for(there.stream.mark())
    backend._submit(lambda: np.copyto(written, given), "copy between devices", (), (target,))
    there.stream.wait_for(backend.stream.mark())


def moved(backend: Any, source: Any, to: Any, non_blocking: bool, pinned: bool, order: Any) -> Any:
    """A copy of `source` on the device `to`; None: the host's, which waits for it."""
    strides = _strides(source, order)
    if to is None:
        array = _host(source, strides)
        source.device.copy(array, source, False, False)
        return array
    made: DeviceArray = to.empty(source.shape, source.dtype, strides, poison=False)
    if made.size:
        to.copy(made, source, non_blocking, pinned)
    return made


def _strides(source: Any, order: Any) -> tuple[int, ...]:
    """Strides in bytes of the copy: dense, in the order of the source's dims unless a memory format says
    more.
    """
    step = source.itemsize
    strides = tuple([s // step for s in source.strides])
    plain = order is None or order.name in ("preserve_format", "contiguous_format")
    if source.flags.c_contiguous and plain:
        return row_strides(source.shape, step)
    return tuple([s * step for s in format_strides(source.shape, strides, order)])


def _host(source: Any, strides: tuple[int, ...]) -> Array:
    if strides == row_strides(source.shape, source.itemsize):
        return np.empty(source.shape, source.dtype)
    flat = np.empty(source.size * source.itemsize, np.uint8)
    return np.ndarray(source.shape, source.dtype, flat, 0, strides)
