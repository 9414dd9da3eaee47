"""Rejection samplers as machine code, on the state that NumPy's generator holds: loops in which each number
starts at the word where the one before it stopped. They are numerics/rejection_samplers.py's, to the bit.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Function, Module, Variable
from rushlight._engine.kernels.moves import mersenne_twister
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import close
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


@cache
def poissons() -> HandwrittenKernel:
    """Called with (state, kept, rates, made): fill `made`, of float64 as the finite rates are; as above."""
    return HandwrittenKernel(
        "poissons", "mt19937", write_poissons, (ADDRESS,) * 4 + (INTEGER,), _call, _state_is_known, _COST
    )


@cache
def binomials() -> HandwrittenKernel:
    """Called with (state, kept, counts, probabilities, few, mean, spread, mode, odds, made), of float64: what
    numerics/rejection_samplers.py calls them.
    """
    return HandwrittenKernel(
        "binomials", "mt19937", write_binomials, (ADDRESS,) * 10 + (INTEGER,), _call, _state_is_known, _COST
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


def write_poissons(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr state, ptr kept, ptr rates, ptr made, i64 n)`."""
    mersenne_twister.write_next(module, f"{name}_next")
    _write_uniform(module, name)
    f = Function(module, f"define i64 @{name}(ptr %state, ptr %kept, ptr %rates, ptr %made, i64 %n)")
    with f.loop("%n") as i:
        at = f.i64("shl", i, 3)
        rate, made = _number(f, "%rates", at), f.var(_constant(0.0), _ONE)
        with f.when(f.any((rate > 0) & (rate < 10))):
            limit, product = f.scalars("exp", -rate), f.var(_uniform(f, name).name, _ONE)
            with f.endless() as done:
                now = Lane(f, "double", product.get())
                f.leave(f.any(now <= limit), done)
                product.set((now * _uniform(f, name)).name)
                made.set((Lane(f, "double", made.get()) + 1).name)
        with f.when(f.any(rate >= 10)):
            _large_poisson(f, name, rate, made)
        f.emit(f"store {_ONE} {made.get()}, ptr {f.at('%made', at)}, align 8")
    close(f, "i64 0")


def _large_poisson(f: Function, name: str, rate: Lane, made: Variable) -> None:
    """Transformed rejection."""
    log_rate, b = f.scalars("log", rate), 0.931 + 2.53 * rate.sqrt()
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = f.scalars("log", 1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2)
    with f.endless() as done:
        u, v = _uniform(f, name) - 0.5, _uniform(f, name)
        us = 0.5 - u.abs()
        with f.when(f.any(us.compare("ne", 0.0))):
            k = f.intrinsic("llvm.floor", (2 * a / us + b) * u + rate + 0.43)
            made.set(k.name)
            f.leave(f.any((us >= 0.07) & (v <= v_r)), done)
            with f.when(f.any(~((k < 0) | ((us < 0.013) & (v > us))))):
                accepted = k * log_rate - rate - f.scalars("lgamma", k + 1)
                bound = f.scalars("log", v) + log_inverse_alpha - f.scalars("log", a / (us * us) + b)
                f.leave(f.any(bound <= accepted), done)


_FACTS = "counts", "p", "few", "mean", "spread", "mode", "odds"


def write_binomials(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr state, ptr kept, ptr counts, ..., ptr made, i64 n)`."""
    mersenne_twister.write_next(module, f"{name}_next")
    _write_uniform(module, name)
    _write_stirling(module, name)
    given = ", ".join(f"ptr %{fact}" for fact in _FACTS)
    f = Function(module, f"define i64 @{name}(ptr %state, ptr %kept, {given}, ptr %made, i64 %n)")
    with f.loop("%n") as i:
        at = f.i64("shl", i, 3)
        count, p, few, mean, *more = (_number(f, f"%{fact}", at) for fact in _FACTS)
        nothing = p.is_nan() | count.is_nan()
        made = f.var(nothing.where(p + count, 0.0).name, _ONE)
        with f.when(f.any((count > 0) & (p >= 1))):
            made.set(count.name)
        drawn = (count > 0) & (p > 0) & (p < 1)
        with f.when(f.any(drawn & (mean >= 10))):
            _large_binomial(f, name, (count, few, mean, *more), made)
        with f.when(f.any(drawn & ~(mean >= 10))):
            log_q, trials = f.scalars("log1p", -few), f.var(_constant(0.0), _ONE)
            made.set(_constant(-1.0))
            with f.endless() as done:
                f.leave(f.any(~(Lane(f, "double", trials.get()) <= count)), done)
                waited = f.intrinsic("llvm.ceil", f.scalars("log", _uniform(f, name)) / log_q)
                trials.set((Lane(f, "double", trials.get()) + waited).name)
                made.set((Lane(f, "double", made.get()) + 1).name)
        with f.when(f.any(drawn & (p > 0.5))):
            made.set((count - Lane(f, "double", made.get())).name)
        f.emit(f"store {_ONE} {made.get()}, ptr {f.at('%made', at)}, align 8")
    close(f, "i64 0")


def _large_binomial(f: Function, name: str, facts: tuple[Lane, ...], made: Variable) -> None:
    """Transformed rejection with squeeze."""
    count, p, mean, spread, mode, odds = facts

    def stirling(k: Lane) -> Lane:
        return f.lanes("double", f"call {_ONE} @{name}_stirling({k!r})")

    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha, v_r, centre = (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b, mean + 0.5
    with f.endless() as done:
        u, v = _uniform(f, name) - 0.5, _uniform(f, name)
        us = 0.5 - u.abs()
        k = f.intrinsic("llvm.floor", (2 * a / us + b) * u + centre)
        with f.when(f.any(us.compare("ne", 0.0) & (k >= 0) & (k <= count))):
            made.set(k.name)
            f.leave(f.any((us >= 0.07) & (v <= v_r)), done)
            bound = (
                (mode + 0.5) * f.scalars("log", (mode + 1) / (odds * (count - mode + 1)))
                + (count + 1) * f.scalars("log", (count - mode + 1) / (count - k + 1))
                + (k + 0.5) * f.scalars("log", odds * (count - k + 1) / (k + 1))
                + stirling(mode)
                + stirling(count - mode)
                - stirling(k)
                - stirling(count - k)
            )
            f.leave(f.any(f.scalars("log", v * alpha / (a / (us * us) + b)) <= bound), done)


def _write_stirling(module: Module, name: str) -> None:
    """`name_stirling`: what log(k!) has beyond Stirling's formula."""
    f = Function(module, f"define internal {_ONE} @{name}_stirling({_ONE} %k)")
    k = Lane(f, "double", "%k")
    after = k + 1
    square = after * after
    found = f.var(((1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / after).name, _ONE)
    with f.when(f.any(k <= 9)):
        formula = (k + 0.5) * f.scalars("log", after) - after + 0.5 * math.log(2 * math.pi)
        found.set((f.scalars("lgamma", after) - formula).name)
    close(f, f"{_ONE} {found.get()}")


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
