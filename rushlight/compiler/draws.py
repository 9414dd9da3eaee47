"""Random numbers as stages: the words of an engine, drawn where they are needed, and what is made of them."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.base.rng import Engine, default_engine
from rushlight.compiler import mersenne, native
from rushlight.compiler.pointwise import pointwise
from rushlight.compiler.stages import Stage, Stages, kernel, pointer
from rushlight.ops.scalar import m, symbol

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=8)
def _drawing(engine: Engine) -> tuple[Array, Callable[[], Any]]:
    """A context in which stages may draw from the engine, and what it sets where a thread has its own."""
    refuse = np.zeros(1, np.int64)

    @contextmanager
    def drawing() -> Iterator[None]:
        with engine.lock, engine._bits.lock:
            refuse[0] = default_engine() is not engine
            yield
    return refuse, drawing


def bernoulli(engine: Engine, p: float, value: float, out: Array) -> Stages | None:
    """`value` with probability p, else zero, as base/distributions.py draws it, into a C-ordered array."""
    w, d = symbol("w"), out.dtype.name
    if d not in ("float32", "float64") or not (out.flags.c_contiguous and mersenne.words().compile_now()):
        return None
    # Of a pair of words the first is the upper half; 53 bits of the pair count.
    drawn = m.bitwise_or(m.bitwise_and(m.shift_left(w, 32), (1 << 53) - (1 << 32)),
                         m.bitwise_and(m.shift_right(w, 32), (1 << 32) - 1))
    made = pointwise((m.where(drawn < symbol("t"), symbol("v"), 0),),
                     (("w", "int64"), ("t", "int64"), ("v", d)), (d,))
    (refuse, drawing), words = _drawing(engine), np.empty(out.shape, np.int64)
    operands = words, np.array(math.ceil(p * 2.0**53)), np.array(value, out.dtype), out
    chosen = kernel(made.fn, operands, [False] * 4) if made.compile_now() else None
    jobs = [[*map(pointer, (engine.memory, words, refuse)), 2 * out.size]]
    code = native.address("words", "mt19937", mersenne.write)
    return chosen and [Stage("rl_words", jobs, 3, [code], (engine, words, refuse), within=drawing), *chosen]
