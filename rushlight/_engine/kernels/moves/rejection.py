"""Rejection samplers as machine code, on the state that NumPy's generator holds: loops in which each number
starts at the word where the one before it stopped. They are numerics/rejection_samplers.py's, to the bit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.moves import mersenne_twister
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import close
from rushlight._engine.kernels.runtime.team import pointer
from rushlight._engine.numerics.rejection_samplers import SQUEEZE

_ONE = "<1 x double>"
# A number by Python takes some microseconds.
_COST = 8


def _call(state: Any, kept: Any, *arrays: Any) -> tuple[int, ...]:
    return (*[pointer(a) for a in (state, kept, *arrays)], arrays[0].size)


@cache
def gammas() -> HandwrittenKernel:
    """Called with (state, kept, shapes, powers, d, made): fill `made`; all but the state are of float64.

    state: Engine.memory.  kept: the normal that is left of a pair, and 1 as an int64 if there is one.
    """
    return HandwrittenKernel(
        "gammas", "mt19937", write_gammas, (ADDRESS,) * 6 + (INTEGER,), _call, _state_is_known, _COST
    )


def _state_is_known(run: Any) -> bool:
    """Whether this NumPy keeps its words as the code of all kernels of words expects."""
    return mersenne_twister.words().compile_now()


def write_gammas(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr state, ptr kept, ptr shapes, ptr powers, ptr d, ptr made, i64 n)`."""
    mersenne_twister.write_next(module, f"{name}_next")
    _write_uniform(module, name)
    _write_normal(module, name)
    f = Function(
        module,
        f"define i64 @{name}(ptr %state, ptr %kept, ptr %shapes, ptr %powers, ptr %d, ptr %made, i64 %n)",
    )
    with f.loop("%n") as i:
        at = f.i64("shl", i, 3)
        shape, d = _number(f, "%shapes", at), _number(f, "%d", at)
        made, scale = f.var(_constant(0.0), _ONE), f.var(_constant(1.0), _ONE)
        with f.when(f.any(shape > 0)):
            with f.when(f.any(shape < 1)):
                scale.set(f.scalars("pow", 1 - _uniform(f, name), _number(f, "%powers", at)).name)
            c = 1 / (9 * d).sqrt()
            with f.endless() as done:
                x = f.lanes("double", f"call {_ONE} @{name}_normal(ptr %state, ptr %kept)")
                y = 1 + c * x
                # Written so that a nan goes on, as a comparison that is false does.
                with f.when(f.any(~(y <= 0))):
                    v = y * y * y
                    u = 1 - _uniform(f, name)
                    square = x * x
                    product = Lane(f, "double", scale.get()) * d * v
                    made.set(product.name)
                    f.leave(f.any(u < 1 - SQUEEZE * square * square), done)
                    bound = 0.5 * square + d * (1 - v + f.scalars("log", v))
                    f.leave(f.any(f.scalars("log", u) < bound), done)
        f.emit(f"store {_ONE} {made.get()}, ptr {f.at('%made', at)}, align 8")
    close(f, "i64 0")


def _constant(value: float) -> str:
    return f"<double {value:e}>"


def _number(f: Function, array: str, offset: str) -> Lane:
    return f.lanes("double", f"load {_ONE}, ptr {f.at(array, offset)}, align 8")


def _uniform(f: Function, name: str) -> Lane:
    return f.lanes("double", f"call {_ONE} @{name}_uniform(ptr %state)")


def _write_uniform(module: Module, name: str) -> None:
    """`name_uniform`: a uniform of [0, 1), of the next two words."""
    f = Function(module, f"define internal {_ONE} @{name}_uniform(ptr %state)")
    high, low = (f.op(f"call i64 @{name}_next(ptr %state)") for _ in range(2))
    bits = f.i64("and", f.i64("or", f.i64("shl", high, 32), low), (1 << 53) - 1)
    whole = f.lanes("i64", f"insertelement <1 x i64> poison, i64 {bits}, i64 0")
    close(f, repr(whole.cast("uitofp", "double") * 2.0**-53))


def _write_normal(module: Module, name: str) -> None:
    """`name_normal`: a normal, the one that is kept or the first of a pair, of which the second is kept."""
    f = Function(module, f"define internal {_ONE} @{name}_normal(ptr %state, ptr %kept)")
    had = f.load("i64", "%kept", 8)
    made = f.var(_number(f, "%kept", "0").name, _ONE)
    f.store("i64", f.i64("sub", 1, had), "%kept", 8)
    with f.when(f.i64("icmp eq", had, 0)):
        u, v = _uniform(f, name), _uniform(f, name)
        radius = (-2 * f.scalars("log1p", -v)).sqrt()
        angle = 2 * np.pi * u
        f.emit(f"store {radius * f.scalars('sin', angle)!r}, ptr %kept, align 8")
        made.set((radius * f.scalars("cos", angle)).name)
    close(f, f"{_ONE} {made.get()}")
