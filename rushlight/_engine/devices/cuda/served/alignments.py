"""CTC's loss and its gradient: a block for each sequence goes along the times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import alignments, launches
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import indexing
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.ops.nn.margin_losses import _trellis

Ints = tuple[int, ...]
_INDEX = np.dtype(np.int64)


def _to_device(backend: Any, values: Any) -> DeviceArray:
    """Integers of the host's, on the device."""
    given = np.ascontiguousarray(values, dtype=_INDEX)
    made: DeviceArray = backend.empty(given.shape, _INDEX, poison=False)
    backend.copy(made, given, False, False)
    return made


def _states(backend: Any, targets: Any, times: Ints, lengths: Ints, blank: int) -> list[DeviceArray]:
    """(labels of the states, times and the numbers of the last states) of the sequences."""
    backend.unkept()  # the labels' places depend on lengths, which the host knows
    here = backend.read(targets) if targets.__class__ is DeviceArray else np.asarray(targets)
    labels, _, last = _trellis(here, lengths, blank)
    return [_to_device(backend, values) for values in (labels, times, last.reshape(-1))]


def _launch(
    backend: Any, write: Any, logs: DeviceArray, states: Sequence[DeviceArray], results: Sequence[DeviceArray]
) -> None:
    of, count = dt.from_numpy_dtype(logs.dtype).name, states[0].shape[1]
    source = Source(write, (of,), 1 + len(states) + len(results), len(alignments.NUMBERS))
    numbers = [*logs.shape[:2], count, *logs.strides]
    grid = backend.blocks(logs.shape[1], count)
    backend.launch(source, grid, (logs, *states), results, numbers, "ctc_loss")


def _checked(logs: DeviceArray) -> None:
    if logs.dtype.name not in ("float32", "float64"):
        raise NotServed(f"CTC's loss of {logs.dtype}")


def _ctc_loss(
    backend: Any,
    logs: DeviceArray,
    targets: Any,
    times: Ints,
    lengths: Ints,
    blank: int,
    zero_infinity: bool,
) -> tuple[DeviceArray, DeviceArray]:
    """(losses, log of the sum over ways to each state at each time)."""
    _checked(logs)
    states = _states(backend, targets, times, lengths, blank)
    shape = (*logs.shape[:2], states[0].shape[1])
    ways = backend.empty(shape, logs.dtype, None, poison=False)
    losses = backend.empty(logs.shape[1:2], logs.dtype, None, poison=False)
    _launch(backend, alignments.forward, logs, states, (ways, losses))
    return losses, ways


def _ctc_loss_backward(
    backend: Any,
    grad: DeviceArray,
    logs: DeviceArray,
    targets: Any,
    losses: DeviceArray,
    ways: DeviceArray,
    times: Ints,
    lengths: Ints,
    blank: int,
    zero_infinity: bool,
) -> DeviceArray:
    """grad * (exp(logs) - the share of alignments that are there), in the CPU's steps."""
    _checked(logs)
    labels, steps, last = _states(backend, targets, times, lengths, blank)
    given = [launches.contiguous(backend, a) for a in (ways, losses)]
    back, shares = (backend.empty(ways.shape, logs.dtype, None, poison=False) for _ in range(2))
    shares.fill(0)
    _launch(backend, alignments.backward, logs, [labels, steps, last, *given], (back, shares))
    of = dt.from_numpy_dtype(logs.dtype).name
    start: DeviceArray = backend.empty(logs.shape, logs.dtype, None, poison=False)
    column = given[1].relaid((logs.shape[1], 1), (logs.itemsize, 0))
    launches.into(backend, _nothing(of), (column, logs), (start,), "ctc_loss")
    places = labels.relaid(shares.shape, (0, *labels.strides))
    through = indexing._scatter_add(backend, start, 2, places, shares)
    made: DeviceArray = backend.empty(logs.shape, logs.dtype, None, poison=False)
    one = [a.relaid((logs.shape[1], 1), (a.strides[0], 0)) for a in (grad, given[1], steps)]
    meaning = _share(of, bool(zero_infinity))
    launches.by_coordinates(backend, meaning, (logs, through, *one), (made,), "ctc_loss", axes=(("time", 0),))
    return made


_INF = float("inf")


@cache
def _nothing(of: str) -> Meaning:
    """0, and nan where PyTorch's steps give it."""
    root = m.exp(symbol("loss") - symbol("x") - _INF)
    return Meaning((root,), (("loss", of), ("x", of)), (of,), of)


@cache
def _share(of: str, zero_infinity: bool) -> Meaning:
    x, through, grad, loss, steps, time = (
        symbol(n) for n in ("x", "through", "grad", "loss", "steps", "time")
    )
    found = (m.exp(x) - through) * grad
    if zero_infinity:
        found = m.where(m.eq(loss, _INF), 0, found)
    root = m.where(m.lt(time, steps), found, 0)
    kinds = [(n, of) for n in ("x", "through", "grad", "loss")]
    return Meaning((root,), (*kinds, ("steps", "int64"), ("time", "int64")), (of,), of)


ROWS: dict[str, Callable[..., Any]] = {"_ctc_loss": _ctc_loss, "_ctc_loss_backward": _ctc_loss_backward}
