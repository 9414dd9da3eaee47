"""Running values of layers, which move towards the moments of each batch: written in place by one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight._engine.dispatch.interpreters import MODES
from rushlight._engine.dispatch.runners import in_place
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, storage

_NAMES = ("running", "keep", "share", "moments", "scale")
_RUNNING, _KEEP, _SHARE, _MOMENTS, _SCALE = map(symbol, _NAMES)
# That of _update_moment (ops/nn/normalization.py), of numbers that are no constants of the code.
_MOVED = _KEEP * _RUNNING + _SHARE * (_MOMENTS * _SCALE)


def move(momentum: float, moved: Sequence[tuple[Any, Any, float]]) -> None:
    """Move running values (C) towards moments (1, C, 1, ...) times a scale, given as such triples."""
    if moved and not MODES and all([_plain(running, moments) for running, moments, _ in moved]):
        sizes = tuple([running._geometry.size for running, _, _ in moved])
        run = _mover(moved[0][0]._kind.dtype.np, sizes, momentum, tuple([scale for _, _, scale in moved]))
        run(*[t._array for running, moments, _ in moved for t in (running, moments)])
        for running, _, _ in moved:
            storage(running).version += 1
        return
    for running, moments, scale in moved:
        old = running if running._grad_node is None else running.detach()
        running._follow_(ROWS["_update_moment"](old, moments.detach(), scale, momentum))


def _plain(running: Any, moments: Any) -> bool:
    """Whether nobody need know of the write, and arrays lie densely; moments are of one dtype."""
    return (
        in_place.free(running)
        and moments.__class__ is Tensor
        and moments._kind is running._kind
        and running._kind.dtype.np.char in "fd"
        and running._array.flags.c_contiguous
        and running._geometry.ndim == 1
        and moments._array.flags.c_contiguous
        and moments._geometry.size == running._geometry.size
    )


@lru_cache(maxsize=256)
def _mover(
    of: np.dtype[Any], sizes: tuple[int, ...], momentum: float, scales: tuple[float, ...]
) -> Callable[..., None]:
    """What moves arrays (running, moments, running, moments, ...) of such sizes."""
    kernel: Any = pointwise((_MOVED,), tuple([(n, of.name) for n in _NAMES]), (of.name,))
    keep, share, *times = numbers = [np.asarray(x, of) for x in (1 - momentum, momentum, *scales)]
    by_loop: list[Any] = []

    def run(*arrays: Any) -> None:
        if by_loop:
            by_loop[0](*arrays, *numbers)
            return
        for running, moments, scale in zip(arrays[::2], arrays[1::2], times, strict=True):
            kernel.fn(running, keep, share, moments.reshape(-1), scale, out=running)

    def learn(_: Any) -> None:
        # few programs that only have small tensors compile
        from rushlight._engine.kernels.runtime import small_calls

        standing = [np.empty(n, of) for n in sizes for _ in range(2)]
        pairs = zip(standing[::2], standing[1::2], times, strict=True)
        parts = [(running, keep, share, moments, scale, running) for running, moments, scale in pairs]
        loop = small_calls.loops(kernel, parts, [*standing, *numbers])
        if loop is not None:
            by_loop.append(loop)

    kernel.on_ready(learn)
    return run
