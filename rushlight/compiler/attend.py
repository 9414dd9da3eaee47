"""Attention without its matrix of scores, in machine code (`attentioncode.py`): a job for each head."""
from __future__ import annotations

import struct
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from rushlight.compiler import attentioncode, native, pool, team, tilecode
from rushlight.compiler.tiles import offsets, suits
from rushlight.ops.ways import Way

Array = np.ndarray[Any, Any]
Layout = tuple[tuple[int, ...], tuple[int, ...]]
# Bytes of a strip of scores, which stays in a second-level cache; rows of a tile, and its most columns; most
# rows of a strip, fewer where later strips see more keys.
_STRIP, _ROWS, _COLUMNS, _MOST, _CAUSAL = 1 << 17, 6, 64, 96, 48
# Multiplications from which on threads are worth waking.
_PARALLEL = 1 << 17


def _table(n: int, step: int) -> Array:
    """Offsets of n rows or columns, and of a vector beyond."""
    return np.arange(n + _COLUMNS) * step


@lru_cache(maxsize=128)
def _plan(layouts: tuple[Layout, ...], name: str, causal: bool, scale: float) -> tuple[Array, Array, Any]:
    """Each head's offsets in each operand, the steps of attentioncode.py, and the tables in these."""
    (q, _), (k, _), (v, _), *_ = layouts
    item = np.dtype(name).itemsize
    width = -(-k[-2] // _COLUMNS) * _COLUMNS * item
    rows = min(_CAUSAL if causal else _MOST, max(_ROWS, _STRIP // width // _ROWS * _ROWS))
    tables = [_table(shape[-2 + axis], strides[-2 + axis]) for shape, strides in layouts for axis in (0, 1)]
    # Without gradients there are fewer operands: their tables are never read.
    tables += [tables[0]] * (14 - len(tables)) + [_table(rows, width), _table(width // item, item)]
    bits, = struct.unpack("q", struct.pack("d", scale))
    loops = [native.loop(write, name) for write in (tilecode.pack, tilecode.tiles)]
    steps = [q[-2], k[-2], q[-1], v[-1], rows, bits, int(causal), width, *map(team.pointer, tables), *loops]
    heads = np.stack([offsets(shape[:-2], strides[:-2]) for shape, strides in layouts], 1)
    return heads, np.array(steps, np.int64), tables


def _work(write: Any, operands: tuple[Array, ...], kept: Array, causal: bool, scale: float) -> team.Work:
    """All heads of (q, k, v, result or g, and the gradients)."""
    first = operands[0]
    layouts = tuple([(a.shape, a.strides) for a in operands])
    heads, steps, _ = _plan(layouts, first.dtype.name, causal, float(scale))
    jobs = np.empty((len(heads), len(operands) + 1), np.int64)
    places = [0, 1, 2, 3, *range(5, len(operands) + 1)]
    jobs[:, places] = heads + np.array([team.pointer(a) for a in operands], np.int64)
    jobs[:, 4] = team.pointer(kept) + np.arange(len(heads)) * (kept.nbytes // len(heads))
    loop = native.loop(write, first.dtype.name)
    work = prod(first.shape) * operands[1].shape[-2]
    return team.Work(loop, jobs, jobs.shape[1], steps, pool.get_num_threads() if work >= _PARALLEL else 1)


def forward(result: Array, kept: Array, q: Array, k: Array, v: Array, causal: bool,
            scale: float) -> team.Work:
    """What `attend` does, into memory."""
    return _work(attentioncode.attend, (q, k, v, result), kept, causal, scale)


def backward(dq: Array, dk: Array, dv: Array, g: Array, q: Array, k: Array, v: Array, kept: Array,
             causal: bool, scale: float) -> team.Work:
    """What `unattend` does, into memory, where dk and dv are zeros before."""
    return _work(attentioncode.unattend, (q, k, v, g, dq, dk, dv), kept, causal, scale)


def attend(q: Array, k: Array, v: Array, causal: bool, scale: float) -> Way | None:
    """A function of operands like these, of equal leading axes: (softmax(q k' scale) v, what `unattend`
    needs); None without machine code."""
    if not suits(q, k, v) or not team.possible() or not (q.size and k.size and v.size and scale):
        return None
    shape, rows, of = (*q.shape[:-1], v.shape[-1]), (*q.shape[:-1], 2), q.dtype
    # PyTorch's lies as the queries do, for heads side by side that is position by position.
    like = q.ndim == 4 and shape == q.shape and q.strides[-1] == q.itemsize and all(q.strides)
    four = q, k, v, np.empty_like(q) if like else np.empty(shape, of)
    heads, steps, tables = _plan(tuple([(a.shape, a.strides) for a in four]), of.name, causal, float(scale))
    jobs = np.column_stack((heads, np.arange(len(heads)) * 16 * q.shape[-2]))
    made = team.Call((native.loop(attentioncode.attend, of.name), jobs, range(5), 5, steps, tables))
    many = prod(q.shape) * k.shape[-2] >= _PARALLEL

    def run(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        result, kept = np.empty_like(q) if like else np.empty(shape, of), np.empty(rows)
        made(pool.get_num_threads() if many else 1, q, k, v, result, kept)
        return result, kept
    return run


def unattend(g: Array, q: Array, k: Array, v: Array, kept: Array, causal: bool,
             scale: float) -> tuple[Array, Array, Array] | None:
    """The gradients of q, k and v for g of the result; None without machine code."""
    if not suits(g, q, k, v):
        return None
    dq, dk, dv = _like(np.empty, q), _like(np.zeros, k), _like(np.zeros, v)
    return (dq, dk, dv) if backward(dq, dk, dv, g, q, k, v, kept, causal, scale).run() else None


def _like(make: Any, a: Array) -> Array:
    """Memory for a gradient: of (batch, heads, length, size), position by position, as PyTorch's."""
    if a.ndim != 4:
        return np.asarray(make(a.shape, a.dtype))
    return np.asarray(make([a.shape[i] for i in (0, 2, 1, 3)], a.dtype)).swapaxes(1, 2)
