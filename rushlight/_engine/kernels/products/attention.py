"""Attention without its matrix of scores, in machine code (`attention_code.py`): a job for each head."""

from __future__ import annotations

import struct
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.products import attention_code, tile_code
from rushlight._engine.kernels.products.tiles import Array, Layout, offsets, suits
from rushlight._engine.kernels.runtime import native, parallel, team
from rushlight._engine.ops.resolved import ArrayFunction

# Bytes of a strip of scores, which stays in a second-level cache; rows of a tile, and its most columns; most
# rows of a strip, fewer where later strips see more keys.
_STRIP, _ROWS, _COLUMNS, _MOST, _CAUSAL = 1 << 17, 6, 64, 96, 48
# Multiplications from which on threads are worth waking.
_PARALLEL = 1 << 17


def _table(n: int, step: int) -> Array:
    """Offsets of n rows or columns, and of a vector beyond."""
    return np.arange(n + _COLUMNS) * step


@lru_cache(maxsize=128)
def _call(write: Any, layouts: tuple[Layout, ...], name: str, causal: bool, scale: float) -> team.Call:
    (q, _), (k, _), (v, _), *_ = layouts
    item = np.dtype(name).itemsize
    width = -(-k[-2] // _COLUMNS) * _COLUMNS * item
    rows = min(_CAUSAL if causal else _MOST, max(_ROWS, _STRIP // width // _ROWS * _ROWS))
    walked = *layouts[:4], *layouts[5:]
    tables = [_table(shape[-2 + axis], strides[-2 + axis]) for shape, strides in walked for axis in (0, 1)]
    # Without gradients there are fewer operands: their tables are never read.
    tables += [tables[0]] * (14 - len(tables)) + [_table(rows, width), _table(width // item, item)]
    (bits,) = struct.unpack("q", struct.pack("d", scale))
    loops = [native.loop(part, name) for part in (tile_code.pack, tile_code.tiles)]
    steps = [q[-2], k[-2], q[-1], v[-1], rows, bits, int(causal), width, *map(pointer, tables), *loops]
    jobs = np.stack([offsets(shape[:-2], strides[:-2]) for shape, strides in layouts], 1)
    count = len(layouts)
    loop = native.loop(write, name)
    return team.Call(team.CallStage(loop, jobs, range(count), count, np.array(steps, np.int64), tables))


def over(write: Any, causal: bool, scale: float, *operands: Array) -> tuple[team.Call, bool]:
    """A call of attention_code.py over all heads of operands like these (q, k, v, result or g, what is kept
    of each row, and the gradients), and whether threads are worth waking for it.
    """
    q, k, *_ = operands
    layouts = tuple([(a.shape, a.strides) for a in operands])
    return _call(write, layouts, q.dtype.name, causal, float(scale)), prod(q.shape) * k.shape[-2] >= _PARALLEL


def attend(q: Array, k: Array, v: Array, causal: bool, scale: float) -> ArrayFunction | None:
    """A function of operands like these, of equal leading axes: (softmax(q k' scale) v, what `unattend`
    needs); None without machine code.
    """
    if not suits(q, k, v) or not team.possible() or not (q.size and k.size and v.size and scale):
        return None
    shape, rows, of = (*q.shape[:-1], v.shape[-1]), (*q.shape[:-1], 2), q.dtype
    # PyTorch's lies as the queries do, for heads side by side that is position by position.
    like = q.ndim == 4 and shape == q.shape and q.strides[-1] == q.itemsize and all(q.strides)
    result = np.empty_like(q) if like else np.empty(shape, of)
    call, many = over(attention_code.attend, causal, scale, q, k, v, result, np.empty(rows))

    def run(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        result, kept = np.empty_like(q) if like else np.empty(shape, of), np.empty(rows)
        call(parallel.get_num_threads() if many else 1, q, k, v, result, kept)
        return result, kept

    return run


def unattend(
    g: Array, q: Array, k: Array, v: Array, kept: Array, causal: bool, scale: float
) -> tuple[Array, Array, Array] | None:
    """The gradients of q, k and v for g of the result; None without machine code."""
    if not suits(g, q, k, v) or not team.possible():
        return None
    dq, dk, dv = _like(np.empty, q), _like(np.zeros, k), _like(np.zeros, v)
    operands = q, k, v, g, kept, dq, dk, dv
    call, many = over(attention_code.unattend, causal, scale, *operands)
    call(parallel.get_num_threads() if many else 1, *operands)
    return dq, dk, dv


def _like(make: Any, a: Array) -> Array:
    """Memory for a gradient: of (batch, heads, length, size), position by position, as PyTorch's."""
    if a.ndim != 4:
        return np.asarray(make(a.shape, a.dtype))
    return np.asarray(make([a.shape[i] for i in (0, 2, 1, 3)], a.dtype)).swapaxes(1, 2)
