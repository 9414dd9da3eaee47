"""Matrix products by the device's own kernels: where cuBLAS is not installed, or has no algorithm.

They take any strides, and go by tensor cores for float16 and bfloat16. They are not made to be as fast as
cuBLAS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import complexes, launches, products
from rushlight._engine.devices.cuda.kernels.ptx import CORES
from rushlight._engine.devices.cuda.kernels.sources import Source
from rushlight._engine.devices.cuda.served import functions
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import m, symbol

_TYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
# A part of the inner dim has as many places as this at least; a multiprocessor has so many warps at work.
_SPAN, _WARPS = 512, 16
# A block's threads.
_THREADS = 128


def product(device: Any, a: DeviceArray, b: DeviceArray, bias: DeviceArray | None = None) -> DeviceArray:
    """a @ b over the last two dims, batch dims broadcast; `bias` is added to each row. NotServed for other
    dtypes than those of PyTorch's products on CUDA.
    """
    of = dt.from_numpy_dtype(a.dtype).name
    if of not in _TYPES:
        raise NotServed(f"there are no products of {of}")
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    made: DeviceArray = device.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype, None, poison=False)
    if made.size and not a.shape[-1]:
        launches.convert(device, made, np.zeros((), a.dtype))
    elif made.size:
        _into(device, of, folded(a, lead), folded(b, lead), folded(made, lead))
    if bias is not None and made.size:
        add(device, made, bias)
    return made


def folded(a: DeviceArray, lead: tuple[int, ...]) -> DeviceArray:
    """An operand as one batch of matrices, broadcast to batch dims."""
    if not lead:
        return a.reshape(a.shape[-2:]) if a.ndim > 2 else a
    own = a.shape[:-2]
    steps = (0,) * (len(lead) - len(own)) + tuple(
        [0 if n == 1 else s for n, s in zip(own, a.strides[:-2], strict=True)]
    )
    wide = a.relaid((*lead, *a.shape[-2:]), (*steps, *a.strides[-2:]))
    if len(lead) == 1:
        return wide
    if not any(steps):
        return a.relaid((math.prod(lead), *a.shape[-2:]), (0, *a.strides[-2:]))
    return wide.reshape(-1, *a.shape[-2:])


def _words(a: DeviceArray, axis: int) -> bool:
    """Whether two neighbours along the inner dim are always one aligned word."""
    others = [s for k, s in enumerate(a.strides) if k != a.ndim + axis]
    return a.strides[axis] == 2 and a.shape[axis] % 2 == 0 and not any([n % 4 for n in (a.address, *others)])


def _source(
    device: Any, of: str, made: str, a: DeviceArray, b: DeviceArray
) -> tuple[Source, tuple[int, int]]:
    """(the kernel, its tile's rows and columns)."""
    major, minor = device.card.capability
    if of in ("float16", "bfloat16") and 10 * major + minor >= CORES:
        words = _words(a, -1), _words(b, -2)
        return Source(products.cores, (of, made, words), 3, len(products.NUMBERS)), products.CORES
    return Source(products.plain, (of, made), 3, len(products.NUMBERS)), products.PLAIN


def _into(device: Any, of: str, a: DeviceArray, b: DeviceArray, made: DeviceArray) -> None:
    """made[...] = a @ b, of batches of matrices or of matrices."""
    work = dt.opmath(dt.BY_NAME[of]).name
    source, tile = _source(device, of, of, a, b)
    batches = made.shape[0] if made.ndim == 3 else 1
    (rows, columns), inner = made.shape[-2:], a.shape[-1]
    down, across = (-(-n // size) for n, size in zip((rows, columns), tile, strict=True))
    tiles = batches * down * across
    # The inner dim is cut where there are few tiles: by sizes and the card alone.
    parts = max(min(device.card.processors * _WARPS // tiles, inner // _SPAN), 1)
    span = -(-inner // parts)
    span += span % 2  # words stay whole
    parts, out = -(-inner // span), made
    if parts > 1:
        source, _ = _source(device, of, work, a, b)
        shape = (parts, batches, rows, columns)
        out = device.empty(shape, dt.BY_NAME[work].np, None, poison=False)
    numbers = [batches, down, across, parts, span, rows, columns, inner]
    for array in (a, b):
        numbers += [array.strides[0] if array.ndim == 3 else 0, *array.strides[-2:]]
    part = out.strides[0] if parts > 1 else 0
    numbers += [part, out.strides[-3] if out.ndim > 2 else 0, *out.strides[-2:]]
    grid = device.blocks(-(-tiles * parts // (_THREADS // 32)), _THREADS)
    device.launch(source, grid, (a, b), (out,), numbers, "product")
    if parts > 1:
        each = [(out, made)]
        if work.startswith("complex"):
            each = list(zip(complexes.split(out), complexes.split(made), strict=True))
        for summed, target in each:
            whole = functions.FUNCTIONS[np.sum](device, summed, axis=0)
            launches.convert(device, target, whole.reshape(target.shape))


def _sum(of: str) -> Meaning:
    root = m.add(symbol("a"), symbol("b"))
    return Meaning((root,), (("a", of), ("b", of)), (of,), dt.opmath(dt.BY_NAME[of]).name)


_SUMS = {of: _sum(of) for of in _TYPES}


def add(device: Any, made: DeviceArray, bias: DeviceArray) -> None:
    """made += bias."""
    meaning = _SUMS[dt.from_numpy_dtype(made.dtype).name]
    if complexes.is_complex(meaning):
        parts = complexes.lowered(meaning)
        launches.into(device, parts, complexes.every((made, bias)), complexes.split(made), "linear")
    else:
        launches.into(device, meaning, (made, bias), (made,), "linear")


class Products:
    """A device's products by its own kernels, with the method of cuBLAS's (driver/blas.py). why: the reason
    that cuBLAS has none.
    """

    library = None

    def __init__(self, device: Any, why: str) -> None:
        self.device, self.why = device, why

    def product(self, a: DeviceArray, b: DeviceArray, bias: DeviceArray | None = None) -> DeviceArray:
        """a @ b over the last two dims, batch dims broadcast; `bias` is added to each row."""
        return product(self.device, a, b, bias)
