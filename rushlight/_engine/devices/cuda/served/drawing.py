"""Random numbers by the device's kernels: Philox4x32-10 as an expression of integers, as in draws.py.

Each element computes the word that it needs of its thread's four. In a graph the place in the sequence is
read from the device's memory, where each replay puts its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.devices.cuda import draws
from rushlight._engine.devices.cuda.array import DeviceArray
from rushlight._engine.devices.cuda.device import Device, NotServed
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.philox import MULTIPLIERS, ROUNDS, WEYL
from rushlight._engine.devices.cuda.served import functions, ordering, selecting
from rushlight._engine.devices.cuda.served.indexing import integer, whole
from rushlight._engine.devices.cuda.served.reductions import first_of
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.ops.expressions import Expr, const, m, symbol
from rushlight._engine.ops.row_expressions import fetch

_LOW = (1 << 32) - 1


def _quotient(a: Expr, b: Expr) -> Expr:
    """a // b of whole numbers below 2^52, by doubles."""
    wide = (m.cast(x, arg="float64") for x in (a, b))
    return m.cast(m.floor(m.div(*wide)), arg="int64")


def _low(x: Expr) -> Expr:
    return m.bitwise_and(x, whole(_LOW))


def _high(x: Expr) -> Expr:
    return _low(m.shift_right(x, whole(32)))


def _words(at: Expr, thread: Expr, low: Expr, high: Expr) -> list[Expr]:
    """The four words of a thread at a place, for a key of two words."""
    c = [_low(at), _high(at), _low(thread), _high(thread)]
    for k in range(ROUNDS):
        a, b = c[0] * whole(MULTIPLIERS[0]), c[2] * whole(MULTIPLIERS[1])
        one, two = (_low(key + whole(k * w)) for key, w in zip((low, high), WEYL, strict=True))
        mixed = m.bitwise_xor(m.bitwise_xor(_high(b), c[1]), one)
        c = [mixed, _low(b), m.bitwise_xor(m.bitwise_xor(_high(a), c[3]), two), _low(a)]
    return c


def _picked(which: Expr, four: list[Expr]) -> Expr:
    """One of four, by its number."""
    found = four[3]
    for k in (2, 1, 0):
        found = m.where(m.eq(which, whole(k)), four[k], found)
    return found


def _single(x: Expr) -> Expr:
    return m.cast(x, arg="float32")


def _number(value: float) -> Expr:
    """A literal float32; literals are doubles here, in which 32 bits are whole."""
    return _single(const(value))


def _unit(word: Expr) -> Expr:
    """curand_uniform: float32 of (0, 1]."""
    return _single(word) * _number(2.0**-32) + _number(2.0**-33)


def _normal(which: Expr, four: list[Expr]) -> Expr:
    """curand_normal4, by Box and Muller: pairs of words give a sine and a cosine."""
    second = m.ge(which, whole(2))
    x, y = (m.where(second, four[k + 2], four[k]) for k in (0, 1))
    turn = _single(y) * _number(2.0**-32 * 2 * np.pi) + _number(2.0**-33 * 2 * np.pi)
    radius = m.sqrt(m.log(_unit(x)) * _number(-2.0))
    odd = m.eq(m.bitwise_and(which, whole(1)), whole(1))
    return radius * m.where(odd, m.cos(turn), m.sin(turn))


def _value(name: str) -> Expr:
    return _single(symbol(name))


def _made_of(kind: str, of: str, which: Expr, four: list[Expr]) -> Expr:
    """A number of a kind and dtype, of the word `which` of four."""
    if kind == "normal":
        return _normal(which, four) * _value("std") + _value("mean")
    word = _picked(which, four)
    if kind == "integers":
        return word - _quotient(word, symbol("span")) * symbol("span") + symbol("low")
    u = _unit(word)
    if kind == "uniform":
        scaled = u * _value("span") + _value("low")
        scaled = m.cast(scaled, arg=of) if of in ("float16", "bfloat16") else scaled
        return m.where(m.eq(scaled, _value("high")), _value("low"), scaled)
    if kind == "exponential":
        tiny = float(np.finfo(np.float32).eps / 2)
        logs = m.where(m.ge(u, _number(1 - tiny)), _number(-tiny), m.log(u))
        return m.div(_number(-1.0), _value("rate")) * logs
    if kind == "keep":
        return m.where(m.lt(u, _value("p")), symbol("kept"), symbol("zero"))
    return m.where(m.le(u, _value("p")), _number(1.0), _number(0.0))


# Rows whose numbers kernels draw, but for float64, complex numbers and wide ranges of integers.
DRAWN = frozenset(
    "uniform normal_fill bernoulli bernoulli_fill exponential _keep random rand rand_like randn randn_like "
    "randint randint_like _normal_sized".split()
)
_NAMES = {
    "uniform": ("span", "low", "high"),
    "normal": ("mean", "std"),
    "integers": ("span", "low"),
    "exponential": ("rate",),
    "bernoulli": ("p",),
    "keep": ("p", "kept", "zero"),
}


@cache
def _meaning(kind: str, fours: bool, of: str, captured: bool) -> Meaning:
    """What each element computes; captured: whether the place is read from memory."""
    e, threads = symbol("e"), symbol("threads")
    if fours:  # four neighbours are a thread's
        group = m.shift_right(e, whole(2))
        which = m.bitwise_and(e, whole(3))
        step = _quotient(group, threads)
        thread = group - step * threads
    else:  # a thread's numbers lie a grid apart
        step = _quotient(e, threads * whole(4))
        rest = e - step * threads * whole(4)
        which = _quotient(rest, threads)
        thread = rest - which * threads
    names = [("threads", "int64"), ("at", "int64")]
    if captured:
        low, high, begin = (fetch("int64", symbol("base"), whole(k)) for k in range(3))
        at = symbol("at") + begin
    else:
        low, high, at = symbol("low_key"), symbol("high_key"), symbol("at")
        names += [("low_key", "int64"), ("high_key", "int64")]
    four = _words(at + step, thread, low, high)
    typed = {"kept": of, "zero": of} if kind == "keep" else {}
    usual = "int64" if kind == "integers" else "float64"
    names += [(name, typed.get(name, usual)) for name in _NAMES[kind]]
    names.append(("e", "int64"))
    if captured:
        names.append(("base", "int64"))
    return Meaning((_made_of(kind, of, which, four),), tuple(names), (of,), "float64")


def draw(backend: Device, made: DeviceArray, words: Any, what: str) -> None:
    """Fill an array, in the order of its memory, by a kernel. NotServed where none serves."""
    backend.unkept()
    of = dt.from_numpy_dtype(made.dtype)
    if not made.dense or of.is_complex or made.size >= 1 << 50:
        raise NotServed("numbers for such an array")
    place, threads = words.claim
    values = {**words.values, "zero": np.zeros((), made.dtype)}
    captured = backend.capture is not None
    given: list[Any] = [integer(threads)]
    bases: tuple[Any, ...] = ()
    if captured:
        given.append(integer(place.at // 4))
        bases = (("base", backend.capture.draws.memory(place.engine)),)
    else:
        seed, offset = place
        given += [integer(offset // 4), integer(seed & _LOW), integer(seed >> 32)]
    usual = np.int64 if words.kind == "integers" else np.float64
    for name in _NAMES[words.kind]:
        value = values[name]
        given.append(value if isinstance(value, np.generic | np.ndarray) else np.asarray(value, usual))
    flat = made.relaid((made.size,), (made.itemsize,))
    meaning = _meaning(words.kind, words.fours, of.name, captured)
    arrays = [np.asarray(g) for g in given]
    launches.by_coordinates(backend, meaning, arrays, (flat,), what, axes=(("e", 0),), bases=bases)


def _units(backend: Device, shape: tuple[int, ...], claim: Any, fours: bool) -> DeviceArray:
    """Numbers of (0, 1], float32, row by row."""
    made: DeviceArray = backend.empty(shape, np.dtype(np.float32), None, poison=False)
    if made.size:
        draw(backend, made, draws.Words(claim, fours, "uniform", {"span": 1, "low": 0, "high": 2}), "uniform")
    return made


def _multinomial(
    backend: Device, weights: DeviceArray, count: int, replacement: bool = False, generator: Any = None
) -> DeviceArray:
    """The largest quotients by exponentials, or places in running sums, as PyTorch draws them."""
    if not weights.size or backend.simulated:  # the simulator tells negative weights
        raise NotServed("numbers of such rows")
    if replacement and count > 1:
        engine = draws.engine_of(backend, generator)
        rows = weights.size // weights.shape[-1]
        u = _units(backend, (*weights.shape[:-1], count), engine.claim(rows * count), False)
        totals = ordering.ROWS["cumsum"](backend, weights, -1, dt.float64)
        shares = functions.ufunc(backend, np.divide, (totals, totals[..., -1:]), {})
        return selecting.search(backend, shares, u, False, False)
    buffer = backend.empty(weights.shape, weights.dtype, None, poison=False)
    q = draws.ROWS["exponential"](backend, buffer, 1.0, generator)
    ratio = functions.ufunc(backend, np.divide, (weights, q), {})
    if count == 1:
        return first_of(backend, "max", ratio, weights.ndim - 1)[1][..., None]
    found: DeviceArray = ordering.ROWS["topk"](backend, ratio, count)[1]
    return found


def _bernoulli_each(backend: Device, a: DeviceArray, p: DeviceArray, generator: Any) -> DeviceArray:
    """Ones with probabilities of their own."""
    if backend.simulated or not a.flags.c_contiguous:
        raise NotServed("chances of each")
    engine = draws.engine_of(backend, generator)
    u = _units(backend, a.shape, engine.claim(-(-a.size // 4) * 4), True)
    chance = functions.as_dtype(backend, p, np.dtype(np.float32))
    found = functions.ufunc(backend, np.less_equal, (u, chance), {})
    return functions.as_dtype(backend, found, a.dtype)


def _bernoulli(backend: Device, a: DeviceArray, p: Any = None, generator: Any = None) -> DeviceArray:
    if p is not None:
        raise NotServed("one chance for all")
    return _bernoulli_each(backend, a, a, generator)


def _bernoulli_fill(backend: Device, a: DeviceArray, p: Any = 0.5, generator: Any = None) -> DeviceArray:
    if p.__class__ is not DeviceArray:
        raise NotServed("one chance for all")
    return _bernoulli_each(backend, a, p, generator)


def _normal_around(backend: Device, mean: Any, std: Any, generator: Any = None) -> DeviceArray:
    """Normal numbers with a mean or a deviation of each."""
    like = mean if mean.__class__ is DeviceArray else std
    if backend.simulated or like.dtype.kind != "f":
        raise NotServed("numbers of this dtype")
    shape = np.broadcast_shapes(getattr(mean, "shape", ()), getattr(std, "shape", ()))
    buffer = backend.empty(shape, like.dtype, None, poison=False)
    spread = 1.0 if std.__class__ is DeviceArray else float(std)
    made = draws.ROWS["normal_fill"](backend, buffer, 0.0, spread, generator)
    if std.__class__ is DeviceArray:
        made = functions.ufunc(backend, np.multiply, (made, std), {})
    return functions.ufunc(backend, np.add, (made, mean), {})


ROWS: dict[str, Callable[..., Any]] = {
    "multinomial": _multinomial,
    "bernoulli": _bernoulli,
    "bernoulli_fill": _bernoulli_fill,
    "_normal_around": _normal_around,
}
