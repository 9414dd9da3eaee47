"""Words of the Mersenne Twister as machine code, on the state that NumPy's generator holds.

NumPy makes one word at a time; here 624 are made at once, eight side by side: laid out in a row,
word k + 624 depends on the words k, k + 1 and k + 397 alone (M. Matsumoto, T. Nishimura, 1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.emit.lanes import Lane
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime import native
from rushlight._engine.kernels.runtime.handwritten_kernels import ADDRESS, INTEGER, HandwrittenKernel
from rushlight._engine.kernels.runtime.shared_loops import MEMCPY, close
from rushlight._engine.numerics.rng import Array, Engine, default_engine
from rushlight._engine.ops.expressions import m, symbol

_N, _M = 624, 397
_LANES = 8
_UPPER, _LOWER, _MATRIX = -(1 << 31), (1 << 31) - 1, 0x9908B0DF
_BYTES = 4 * _N


def _agrees(run: Callable[..., bool]) -> bool:
    for n in (5, 1300, 620):
        ours, theirs = Engine(n), Engine(n)
        made = np.empty(n, np.uint32)
        run(made, ours.memory)
        if not np.array_equal(made, theirs.single_words(n)):
            return False
    return True


@cache
def words() -> HandwrittenKernel:
    """Called with (words, state): fill uint32 words; state: Engine.memory, if this NumPy keeps it so."""
    return HandwrittenKernel(
        "words",
        "mt19937",
        write,
        (ADDRESS, ADDRESS, INTEGER),
        lambda words, state: (pointer(state), pointer(words), words.size),
        _agrees,
    )


def write(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr state, ptr words, i64 n)`."""
    f = Function(module, f"define i64 @{name}(ptr %state, ptr %words, i64 %n)", _LANES)
    buffer = f.op(f"alloca [{2 * _N + _LANES} x i32], align 64")
    rest = f.op(f"alloca [{_LANES} x i32], align 64")
    _copy(f, buffer, "%state", _BYTES)
    start = f.op(f"zext i32 {f.load('i32', '%state', _BYTES)} to i64")
    position, done = f.var(start), f.var(0)
    # As many blocks as the words reach into; a block that is used up counts for none.
    used_up = f.op(f"select i1 {f.i64('icmp eq', start, _N)}, i64 0, i64 {start}")
    blocks = f.i64("udiv", f.i64("add", f.i64("add", used_up, "%n"), _N - 1), _N)
    with f.loop(blocks):
        with f.when(f.i64("icmp eq", position.get(), _N)):
            _twist(f, buffer)
            position.set(0)
        at, made = position.get(), done.get()
        left, wanted = f.i64("sub", _N, at), f.i64("sub", "%n", made)
        count = f.op(f"select i1 {f.i64('icmp slt', left, wanted)}, i64 {left}, i64 {wanted}")
        _temper(f, f.at(buffer, f.i64("mul", at, 4)), f.at("%words", f.i64("mul", made, 4)), count, rest)
        position.set(f.i64("add", at, count))
        done.set(f.i64("add", made, count))
    _copy(f, "%state", buffer, _BYTES)
    f.store("i32", f.op(f"trunc i64 {position.get()} to i32"), "%state", _BYTES)
    close(f, "i64 0")


def write_next(module: Module, name: str) -> None:
    """The IR of `i64 name(ptr state)`: the next word, for loops that take them one by one."""
    _write_block(module, f"{name}_block")
    f = Function(module, f"define internal i64 @{name}(ptr %state)", 1)
    with f.when(f.op(f"icmp eq i32 {f.load('i32', '%state', _BYTES)}, {_N}")):
        f.emit(f"call void @{name}_block(ptr %state)")
    at = f.load("i32", "%state", _BYTES)
    f.store("i32", f.op(f"add i32 {at}, 1"), "%state", _BYTES)
    offset = f.i64("shl", f.op(f"zext i32 {at} to i64"), 2)
    word = _tempered(_load(f, f.at("%state", offset))).cast("zext", "i64")
    close(f, f"i64 {f.op(f'extractelement {word!r}, i64 0')}")


def _write_block(module: Module, name: str) -> None:
    """`void name(ptr state)`: the next 624 words, of which none is taken."""
    f = Function(module, f"define internal void @{name}(ptr %state) noinline", _LANES)
    buffer = f.op(f"alloca [{2 * _N + _LANES} x i32], align 64")
    _copy(f, buffer, "%state", _BYTES)
    _twist(f, buffer)
    _copy(f, "%state", buffer, _BYTES)
    f.store("i32", 0, "%state", _BYTES)
    close(f, "void")


def _copy(f: Function, to: str, source: str, size: str | int) -> None:
    memcpy = f.module.declare(*MEMCPY)
    f.emit(f"call void {memcpy}(ptr {to}, ptr {source}, i64 {size}, i1 false)")


def _load(f: Function, pointer: str) -> Lane:
    return f.lanes("i32", f"load {f.type('i32')}, ptr {pointer}, align 4")


def _store(f: Function, x: Lane, pointer: str) -> None:
    f.emit(f"store {x!r}, ptr {pointer}, align 4")


def _twist(f: Function, buffer: str) -> None:
    """The next 624 words behind the present ones, then in their place."""
    with f.loop(str(_N // _LANES)) as k:
        here = f.at(buffer, f.i64("mul", k, 4 * _LANES))
        mixed = (_load(f, here) & _UPPER) | (_load(f, f.at(here, 4)) & _LOWER)
        odd = -(mixed & 1)
        _store(f, _load(f, f.at(here, 4 * _M)) ^ mixed.bits("lshr", 1) ^ (odd & _MATRIX), f.at(here, _BYTES))
    _copy(f, buffer, f.at(buffer, _BYTES), _BYTES)


def _temper(f: Function, source: str, to: str, count: str, rest: str) -> None:
    """`count` words of the state as they are handed out; the last few by way of `rest`."""
    whole = f.i64("udiv", count, _LANES)
    with f.loop(whole) as k:
        offset = f.i64("mul", k, 4 * _LANES)
        _store(f, _tempered(_load(f, f.at(source, offset))), f.at(to, offset))
    offset = f.i64("mul", whole, 4 * _LANES)
    _store(f, _tempered(_load(f, f.at(source, offset))), rest)
    _copy(f, f.at(to, offset), rest, f.i64("sub", f.i64("mul", count, 4), offset))


def _tempered(y: Lane) -> Lane:
    y = y ^ y.bits("lshr", 11)
    y = y ^ (y.bits("shl", 7) & 0x9D2C5680)
    y = y ^ (y.bits("shl", 15) & 0xEFC60000)
    return y ^ y.bits("lshr", 18)


@lru_cache(maxsize=8)
def _drawing(engine: Engine) -> tuple[Array, Callable[[], Any]]:
    """A context in which stages may draw from the engine, and what it sets where a thread has its own."""
    refuse = np.zeros(1, np.bool_)

    @contextmanager
    def drawing() -> Iterator[None]:
        with engine.lock, engine.exclusive():
            refuse[0] = default_engine() is not engine
            yield

    return refuse, drawing


def bernoulli(engine: Engine, p: float, value: float, out: Array) -> Any:
    """`value` with probability p, else zero, as numerics/distributions.py draws it, into a C-ordered array,
    as stages; None where it cannot be.
    """
    # Here, since few programs are compiled.
    from rushlight._engine.kernels.runtime.stages import Stage, formula

    w = symbol("w")
    if not (out.flags.c_contiguous and words().compile_now()):
        return None
    # Of a pair of words the first is the upper half; 53 bits of the pair count.
    drawn = m.bitwise_or(
        m.bitwise_and(m.shift_left(w, 32), (1 << 53) - (1 << 32)),
        m.bitwise_and(m.shift_right(w, 32), (1 << 32) - 1),
    )
    (refuse, drawing), pairs = _drawing(engine), np.empty(out.shape, np.int64)
    operands = pairs, np.array(math.ceil(p * 2.0**53)), np.array(value, out.dtype), out
    chosen = formula(m.where(drawn < symbol("t"), symbol("v"), 0), "wtv", operands)
    code = native.address("words", "mt19937", write)
    jobs = [[pointer(engine.memory), pointer(pairs), 2 * out.size]]
    return chosen and [
        Stage("rl_refuse", [[pointer(refuse)]], 1, [], 1, refuse, drawing),
        Stage("rl_words", jobs, 2, [code], 1, (engine, pairs)),
        *chosen,
    ]
