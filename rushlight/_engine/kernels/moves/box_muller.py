"""numerics/box_muller.py's float32 normals as machine code: eight pairs at a time, the same bits.

The polynomials and their constants are those of numerics/box_muller.py; its fused multiply-adds are
the processor's here, so that there is no machine code for a processor without them.
"""

from __future__ import annotations

import platform
from functools import cache
from typing import Any

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.lanes import Lane, horner
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.target import identity
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, FLOAT, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.numerics import box_muller as b

_PAIRS = b.GROUP // 2


@cache
def normals() -> HandwrittenKernel:
    """Called with (words, mean, std): float32 normals in the memory of dense uint32 words."""
    return HandwrittenKernel(
        "normals",
        "float32",
        write,
        (ADDRESS, INTEGER, FLOAT, FLOAT),
        lambda words, mean, std: (pointer(words), words.size // b.GROUP, mean, std),
        _fused,
        cost=32,
    )


def _fused(run: Any) -> bool:
    """`host().fma`, found without loading LLVM."""
    return platform.machine() != "x86_64" or "fma" in identity().split()


def write(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr words, i64 groups, float mean, float std)`."""
    f = Function(module, f"define i64 @{name}(ptr %words, i64 %groups, float %mean, float %std)", _PAIRS)
    mean, std = f.splat("float", "%mean"), f.splat("float", "%std")
    with f.loop("%groups") as group:
        first = f.at("%words", f.i64("mul", group, 4 * b.GROUP))
        second = f.at(first, 4 * _PAIRS)
        radius = (_log(1 - _uniforms(f, first)) * -2.0).sqrt()
        sine, cosine = _sincos(_uniforms(f, second) * b.TWO_PI)
        for turned, place in ((cosine, first), (sine, second)):
            f.emit(f"store {(radius * turned).fma(std, mean)!r}, ptr {place}, align 4")
    close(f, "i64 0")


def _uniforms(f: Function, place: str) -> Lane:
    words = f.lanes("i32", f"load {f.type('i32')}, ptr {place}, align 4")
    return (words & b.LOW_24).cast("sitofp", "float") * b.UNIT_24


def _log(x: Lane) -> Lane:
    bits = x.cast("bitcast", "i32")
    exponent = (bits - b.SQRT_HALF_BITS).bits("ashr", 23)
    m = (bits - exponent.bits("shl", 23)).cast("bitcast", "float") - 1
    e = exponent.cast("sitofp", "float")
    square = m * m
    y = (horner(m, b.LOG) * m).fma(square, e * b.LN2_LOW)
    return e.fma(b.LN2_HIGH, m + square.fma(-0.5, y))


def _sincos(x: Lane) -> tuple[Lane, Lane]:
    octant = ((x * b.FOUR_OVER_PI).cast("fptosi", "i32") + 1) & ~1
    turns = octant.cast("sitofp", "float")
    for part in b.QUARTER_PI:
        x = turns.fma(-part, x)
    square = x * x
    cosine = (horner(square, b.COS) * square).fma(square, square * -0.5) + 1
    sine = (horner(square, b.SIN) * square).fma(x, x)
    odd = (octant & 2).compare("ne", 0)
    return (_signed(odd.where(cosine, sine), octant & 4), _signed(odd.where(sine, cosine), (octant + 2) & 4))


def _signed(x: Lane, flag: Lane) -> Lane:
    """x negated where bit 2 of `flag` is set."""
    return (x.cast("bitcast", "i32") ^ flag.bits("shl", 29)).cast("bitcast", "float")
