"""The exchanges of Fisher and Yates as machine code: a loop that cannot be a NumPy call."""

from __future__ import annotations

from functools import cache

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import close


@cache
def exchanges() -> HandwrittenKernel:
    """Called with (places, words): exchange places i and i + words[i] % (n - i), i counting up.

    places: int64 of length n, changed.  words: at least n - 1 uint32.
    """
    return HandwrittenKernel(
        "exchanges",
        "int64",
        write,
        (ADDRESS, ADDRESS, INTEGER),
        lambda places, words: (pointer(places), pointer(words), places.size),
    )


def write(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr places, ptr words, i64 n)`, for n up to 2^32."""
    f = Function(module, f"define i64 @{name}(ptr %places, ptr %words, i64 %n)")
    with f.loop(f.i64("sub", "%n", 1)) as i:
        word = f.load("i32", "%words", f.i64("mul", i, 4))
        left = f.op(f"trunc i64 {f.i64('sub', '%n', i)} to i32")
        step = f.op(f"zext i32 {f.op(f'urem i32 {word}, {left}')} to i64")
        here = f.at("%places", f.i64("mul", i, 8))
        there = f.at("%places", f.i64("mul", f.i64("add", i, step), 8))
        first, second = f.load("i64", here), f.load("i64", there)
        f.store("i64", second, here)
        f.store("i64", first, there)
    close(f, "i64 0")
