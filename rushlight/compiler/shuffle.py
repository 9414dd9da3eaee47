"""The exchanges of Fisher and Yates as machine code: a loop that cannot be a NumPy call."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rushlight.compiler import native
from rushlight.compiler.ir import Function, Module
from rushlight.compiler.target import available
from rushlight.compiler.team import pointer
from rushlight.compiler.tier import Tiered

Array = np.ndarray[Any, Any]


class Exchanges(Tiered):
    """Called with (places, words): exchange places i and i + words[i] % (n - i), i counting up.

    places: int64 of length n, changed.  words: at least n - 1 uint32.  Answers whether it was done.
    """

    def reference(self, *arrays: Any, out: Any = None) -> bool:
        """Nothing is done: base/integers.py has a way without a loop."""
        return False

    def build(self) -> Callable[..., bool] | None:
        """The machine code, or None without LLVM."""
        if not available():
            return None
        code = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            native.address("exchanges", "int64", write))

        def run(places: Array, words: Array, out: Any = None) -> bool:
            code(pointer(places), pointer(words), places.size)
            return True
        return run


@lru_cache(maxsize=None)
def exchanges() -> Exchanges:
    """The one kernel."""
    return Exchanges()


def write(module: Module, name: str) -> None:
    """The IR of `void name(ptr places, ptr words, i64 n)`, for n up to 2^32."""
    f = Function(module, f"define void @{name}(ptr %places, ptr %words, i64 %n)")
    with f.loop(f.i64("sub", "%n", 1)) as i:
        word = f.load("i32", "%words", f.i64("mul", i, 4))
        left = f.op(f"trunc i64 {f.i64('sub', '%n', i)} to i32")
        step = f.op(f"zext i32 {f.op(f'urem i32 {word}, {left}')} to i64")
        here = f.at("%places", f.i64("mul", i, 8))
        there = f.at("%places", f.i64("mul", f.i64("add", i, step), 8))
        first, second = f.load("i64", here), f.load("i64", there)
        f.store("i64", second, here)
        f.store("i64", first, there)
    f.emit("ret void")
    f.finish()
