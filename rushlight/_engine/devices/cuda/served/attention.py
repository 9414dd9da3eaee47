"""Attention by fused kernels, forward and backward: without scores in memory, by tensor cores where they
serve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import NotServed
from rushlight._engine.devices.cuda.kernels import attention, launches
from rushlight._engine.devices.cuda.kernels.ptx import CORES
from rushlight._engine.devices.cuda.kernels.sources import Source

# The widest heads, and the threads of a block.
WIDEST, THREADS = 128, 128
_WORD = 4


def _cores(backend: Any, of: str, width: int) -> bool:
    """Whether tensor cores serve a dtype and a width of heads; older cards' take no such products."""
    major, minor = backend.card.capability
    return of in ("float16", "bfloat16") and width % 16 == 0 and 10 * major + minor >= CORES


def _dtype(*arrays: DeviceArray) -> str:
    """The dtype of all of them; NotServed where no kernel serves the operands."""
    q = arrays[0]
    of = dt.from_numpy_dtype(q.dtype).name
    if of not in ("float16", "bfloat16", "float32") or not 0 < q.shape[-1] <= WIDEST:
        raise NotServed(f"attention of {of} in heads of {q.shape[-1]}")
    if len({a.dtype for a in arrays}) != 1 or len({a.shape[:-2] for a in arrays}) != 1 or q.ndim < 2:
        raise NotServed("attention of operands that are unlike")
    if not all([a.size and a.shape[-1] == q.shape[-1] for a in arrays]):
        raise NotServed("attention of keys and values of other widths")
    return of


def _in_heads(backend: Any, a: DeviceArray, cores: bool) -> tuple[DeviceArray, list[int]]:
    """(the array or a copy, its strides in bytes from batch to batch, head to head, row to row)."""
    good = a.strides[-1] == a.itemsize and a.ndim <= 4
    if cores:  # which read words
        good = good and not any([n % _WORD for n in (a.address, *a.strides[:-1])])
    if not good:
        a = launches.copied(backend, a)
    *lead, row, _ = a.strides
    if a.ndim > 4:  # contiguous now
        return a, [row * a.shape[-2] * a.shape[-3], row * a.shape[-2], row]
    return a, [*[0] * (2 - len(lead)), *lead, row]


def _launch(
    backend: Any,
    kind: str,
    given: Sequence[DeviceArray],
    made: Sequence[DeviceArray],
    is_causal: bool,
    scale: float,
) -> None:
    """Queue a kernel: its arrays in order, those of numbers for each query without a last dim."""
    q, k = given[0], given[1]
    of, width = dt.from_numpy_dtype(q.dtype).name, q.shape[-1]
    cores = _cores(backend, of, width)
    placed, strides = list[DeviceArray](), list[int]()
    for a in given:
        single = a.ndim < q.ndim
        a, steps = _in_heads(
            backend, a.relaid((*a.shape, 1), (*a.strides, a.itemsize)) if single else a, cores
        )
        placed.append(a)
        strides += steps
    for a in made:
        single = a.ndim < q.ndim
        seen = a.relaid((*a.shape, 1), (*a.strides, a.itemsize)) if single else a
        strides += _in_heads(backend, seen, cores)[1]
    lead, (rows, keys) = q.shape[:-2], (q.shape[-2], k.shape[-2])
    count, heads = math.prod(lead), lead[-1] if lead else 1
    bits = int(np.float32(scale).view(np.uint32))
    source = Source(
        attention.attention,
        (kind, of, width, bool(is_causal), cores),
        len(placed) + len(made),
        5 + len(strides),
    )
    side = keys if kind == "to_keys" else rows
    tall = THREADS // 32 * (attention.ROWS if cores else 1)
    grid = backend.blocks(count * -(-side // tall), THREADS)
    numbers = [count, heads, rows, keys, bits, *strides]
    backend.launch(source, grid, placed, list(made), numbers, f"attention, {kind}")


def _attention(
    backend: Any, q: DeviceArray, k: DeviceArray, v: DeviceArray, is_causal: bool, scale: float
) -> tuple[DeviceArray, DeviceArray]:
    """(attention of (..., L, E), (..., S, E), (..., S, E); the logsumexp of each query's scores)."""
    _dtype(q, k, v)
    out = backend.empty(q.shape, q.dtype, None, poison=False)
    lse = backend.empty(q.shape[:-1], np.dtype(np.float32), None, poison=False)
    _launch(backend, "forward", (q, k, v), (out, lse), is_causal, scale)
    return out, lse


def _attention_backward(
    backend: Any,
    g: DeviceArray,
    q: DeviceArray,
    k: DeviceArray,
    v: DeviceArray,
    lse: Any,
    is_causal: bool,
    scale: float,
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """The gradients of queries, keys and values; the scores are computed once more."""
    _dtype(q, k, v, g)
    if lse is None:
        raise NotServed("attention whose forward was no kernel's")
    to_q, to_k, to_v = (backend.empty(a.shape, a.dtype, None, poison=False) for a in (q, k, v))
    delta = backend.empty(q.shape[:-1], np.dtype(np.float32), None, poison=False)
    _launch(backend, "to_query", (q, k, v, g, lse), (to_q, delta), is_causal, scale)
    _launch(backend, "to_keys", (q, k, v, g, lse, delta), (to_k, to_v), is_causal, scale)
    return to_q, to_k, to_v


ROWS: dict[str, Callable[..., Any]] = {"_attention": _attention, "_attention_backward": _attention_backward}
