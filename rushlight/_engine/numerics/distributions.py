"""Numbers of PyTorch's distributions from an Engine's words, in bulk and to the last bit.

Each function returns a flat array of `n` elements of dtype `of`, having checked its parameters.
What is drawn per element follows PyTorch's CPU kernels: one 32-bit word for a float32 uniform, a
64-bit pair wherever the kernel computes in double, 64-bit words for integer ranges from 2^28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.conversion import Array, convert, largest
from rushlight._engine.core.dtype import dtype
from rushlight._engine.numerics.box_muller import GROUP, LOW_24, UNIT_24, normal32, normal64
from rushlight._engine.numerics.fma import fma32, fma64
from rushlight._engine.numerics.rng import FEW, Engine, GivenWords, WordTransform, paired
from rushlight._engine.numerics.ufunc import c_library

FLOATS = frozenset({dt.float16, dt.bfloat16, dt.float32, dt.float64})
_NUMBERS = FLOATS | {dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64}
_CONTINUOUS = (
    "{} distribution is a continuous probability distribution. dtype must be a floating "
    "point but you specified {}"
)


# The bits of a significand.
DIGITS = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}


def not_implemented(kernel: str, of: dtype) -> NoReturn:
    """Raise as PyTorch does where a kernel lacks a dtype."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{of.legacy}'")


def _need(of: dtype, dtypes: frozenset[dtype], kernel: str, n: int = 1) -> None:
    if n and of not in dtypes:
        not_implemented(kernel, of)


def memory_order(a: Array) -> list[int]:
    """a's dims from the one with the longest steps in memory to the one with the shortest."""
    return sorted(range(a.ndim), key=lambda i: (-abs(a.strides[i]), i))


def in_memory_order(flat: Array, a: Array) -> Array:
    """`flat`'s elements in a's shape, the first ones where a's memory begins."""
    if a.flags.c_contiguous:
        return flat.reshape(a.shape)
    order = memory_order(a)
    made = flat.reshape([a.shape[i] for i in order])
    return made.transpose(sorted(range(a.ndim), key=order.__getitem__))


# Long draws are made in blocks, which stay in the cache from words to numbers; the stream is the same.
_BLOCK = 1 << 15


def _in_blocks(draw: Callable[..., Array]) -> Callable[..., Array]:
    @wraps(draw)
    def drawn(engine: Engine, n: int, of: dtype, *parameters: Any) -> Array:
        if n <= _BLOCK:
            return draw(engine, n, of, *parameters)
        made = np.empty(n, of.np)
        with engine.lock:
            for low in range(0, n, _BLOCK):
                part = made[low : low + _BLOCK]
                part[:] = draw(engine, part.size, of, *parameters)
        return made

    return drawn


def units32(words: Array) -> Array:
    """float32 uniforms of [0, 1), the low 24 bits of a word each; the words are changed."""
    words &= np.uint32(LOW_24)
    floats = words.view(np.int32).astype(np.float32)
    floats *= np.float32(UNIT_24)
    return floats


def standard64(engine: Engine | GivenWords, *sizes: int) -> Array:
    """float64 uniforms of [0, 1): the low 53 bits of a pair each."""
    return engine.take(UNITS_OF_PAIRS, sizes)


# The digits of double precision, and the last one's worth: arrays, which NumPy takes faster than numbers.
_DIGITS, _UNIT_53 = np.array((1 << 53) - 1, np.uint64), np.array(2.0**-53)


def _units_of_pairs(words: Array) -> Array:
    words = paired(words)
    words &= _DIGITS
    floats = words.view(np.int64).astype(np.float64)
    floats *= _UNIT_53
    return floats


def in_bulk(
    draw: Callable[..., Array], of: dtype, parameters: tuple[Any, ...], words: int, group: int = 1
) -> WordTransform:
    """What a distribution makes of many words; each number takes `words` of them."""

    def make(given: Array) -> Array:
        return draw(GivenWords(given), len(given) // words, of, *parameters)

    return WordTransform(make, words, max(group, words), of.np)


UNITS, UNITS_OF_PAIRS = WordTransform(units32), WordTransform(_units_of_pairs, 2, 2, of=np.dtype(np.float64))


@_in_blocks
def uniform(engine: Engine, n: int, of: dtype, low: float = 0.0, high: float = 1.0) -> Array:
    """Uniforms of [low, high); RuntimeError unless low <= high and both fit the dtype."""
    _need(of, FLOATS, "check_uniform_bounds")
    check_uniform(of, low, high)
    if of is dt.float64:
        wide = standard64(engine, n)
        if (low, high) == (0, 1):
            return wide
        # fma64 splits its factors, which overflows near the end of the range: a power of two is exact.
        scale = 2.0**64 if max(abs(low), abs(high)) > 2.0**900 else 1.0
        found: Array = fma64(wide, (high - low) / scale, low / scale) * scale
        return found
    start, end = np.float32(low), np.float32(high)
    single = engine.take(UNITS, (n,))
    if (low, high) != (0, 1):
        single = fma32(single, end - start, start)
    if of is dt.float32:
        return single
    made = convert(single, of.np)
    # Rounding may reach `high`, which the interval excludes; PyTorch puts `low` there.
    made[made >= convert(np.asarray(end), of.np)] = convert(np.asarray(start), of.np)
    return made


def check_uniform(of: dtype, low: float, high: float) -> None:
    most = largest(of)
    for name, bound in (("from", low), ("to", high)):
        if not -most <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {dt.C_NAMES[of.name]}, got {bound}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{of.legacy}>::max(), but found "
            f"to={high} and from={low} which result in to-from to exceed the limit"
        )


def normal(
    engine: Engine, n: int, of: dtype, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True
) -> Array:
    """Normals; RuntimeError unless std >= 0.

    From 16 elements in contiguous memory PyTorch transforms uniforms in groups; else it makes
    double-precision pairs one after another and keeps the odd one for the next call.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    _need(of, FLOATS, "normal_kernel_cpu", n)
    if n < GROUP or not contiguous:
        return convert(_scaled(_paired_normals(engine, n), mean, std), of.np)
    if of is not dt.float64:
        return convert(_grouped32(engine, n, mean, std, of in dt.REDUCED), of.np)
    with engine.lock:
        made = standard64(engine, n)
        tail = standard64(engine, GROUP) if n % GROUP else made[:0]
    normal64(made[: n - n % GROUP])
    normal64(tail)
    made[n - len(tail) :] = tail
    found: Array = _scaled(made, mean, std)
    return found


def normals(of: dtype, mean: float = 0.0, std: float = 1.0) -> WordTransform:
    """How normals are made of whole groups of words, or, of fewer than a group, of pairs."""

    def in_pairs(given: Array) -> Array:
        return convert(_scaled(_paired_normals(GivenWords(given), len(given) // 2), mean, std), of.np)

    words, fewer = 2 if of is dt.float64 else 1, WordTransform(in_pairs, 2, 4, of.np, True)
    return replace(in_bulk(normal, of, (mean, std), words, words * GROUP), fewer=fewer)


def _grouped32(engine: Engine, n: int, mean: float, std: float, reduced: bool) -> Array:
    whole = n - n % GROUP
    with engine.lock:
        # The half precisions draw no words for an incomplete last group.
        words = engine.words32(whole if reduced else n)
        tail = engine.words32(GROUP) if n % GROUP else words[:0]
    if len(words) < n:
        words = np.resize(words, n)
    made = words.view(np.float32)
    normal32(words[:whole], mean, std)
    # The last 16 are drawn anew, some of them for the second time.
    if len(tail):
        made[n - len(tail) :] = normal32(tail, mean, std)
    return made


def _scaled(standard: Array, mean: float, std: float) -> Any:
    # The sum is made for a mean of 0 too: it turns -0 into 0.
    # By a power of two products are exact, so that only the sum rounds.
    exact = math.frexp(std)[0] == 0.5 and 2.0**-500 < std < 2.0**500
    return standard * std + mean if exact else fma64(standard, std, mean)


def _paired_normals(engine: Engine | GivenWords, n: int) -> Array:
    """`n` float64 standard normals by Box-Muller pairs, the cosine of each pair first."""
    with engine.lock:
        if n < GROUP:
            return np.array([one_normal(engine) for _ in range(n)], np.float64)
        kept = [] if engine.normal is None else [engine.normal]
        pairs = (n - len(kept) + 1) // 2
        u = standard64(engine, 2 * pairs).reshape(pairs, 2)
        radius, angle = np.sqrt(-2 * c_library("log1p")(-u[:, 1])), 2 * math.pi * u[:, 0]
        made = np.stack([radius * c_library(f)(angle) for f in ("cos", "sin")], axis=1)
        stream = np.concatenate([np.array(kept), made.reshape(-1)])
        engine.normal = float(stream[n]) if len(stream) > n else None
    return stream[:n]


def one_normal(engine: Engine | GivenWords) -> float:
    """One standard normal in double precision, for samplers that draw one by one."""
    kept = engine.normal
    if kept is not None:
        engine.normal = None
        return kept
    u, v = engine.double(), engine.double()
    radius, angle = math.sqrt(-2 * math.log1p(-v)), 2 * math.pi * u
    engine.normal = radius * math.sin(angle)
    return radius * math.cos(angle)


# What each needs of its last parameter.
_NEEDS = {
    "log_normal_": "log_normal_ expects std > 0.0, but found std={}",
    "cauchy_": "cauchy_ expects sigma > 0.0, but found sigma={}",
    "exponential_": "exponential_ expects lambda > 0.0, but found lambda={}",
    "geometric_": "geometric_ expects p to be in (0, 1), but got p={}",
}


def check(name: str, *parameters: float) -> None:
    """RuntimeError for parameters that a distribution does not have, on any device."""
    last = parameters[-1]
    if not last > 0 or (name == "geometric_" and not last < 1):
        raise RuntimeError(_NEEDS[name].format(last))


def log_normal(engine: Engine, n: int, of: dtype, mean: float = 1.0, std: float = 2.0) -> Array:
    """exp of normals; RuntimeError unless std > 0."""
    check("log_normal_", mean, std)
    _need(of, FLOATS, "log_normal_cpu", n)
    return convert(c_library("exp")(_scaled(_paired_normals(engine, n), mean, std)), of.np)


@_in_blocks
def cauchy(engine: Engine, n: int, of: dtype, median: float = 0.0, sigma: float = 1.0) -> Array:
    """Cauchy numbers; RuntimeError unless sigma > 0."""
    check("cauchy_", median, sigma)
    if not of.is_floating_point:
        raise RuntimeError(_CONTINUOUS.format("Cauchy", of.legacy))
    slope = c_library("tan")(math.pi * (standard64(engine, n) - 0.5))
    if (median, sigma) != (0, 1):
        slope = fma64(slope, sigma, median) if math.isfinite(median) else slope * sigma + median
    return convert(slope, of.np)


@_in_blocks
def exponential(engine: Engine, n: int, of: dtype, rate: float = 1.0) -> Array:
    """Exponential numbers; RuntimeError unless rate > 0."""
    check("exponential_", rate)
    if n and not of.is_floating_point:
        raise RuntimeError(_CONTINUOUS.format("Exponential", of.legacy))
    logs = _logs(standard64(engine, n), c_library("log1p") if of is dt.float64 else np.log1p)
    logs *= -1.0 / rate
    return convert(logs, of.np)


def _logs(units: Array, log1p: np.ufunc = np.log1p) -> Array:
    found: Array = log1p(np.negative(units, out=units), out=units)
    return found


@_in_blocks
def geometric(engine: Engine, n: int, of: dtype, p: float) -> Array:
    """Numbers of trials up to the first success; RuntimeError unless 0 < p < 1."""
    check("geometric_", p)
    _need(of, _NUMBERS, "geometric_cpu", n)
    with np.errstate(divide="ignore"):
        trials = np.ceil(np.log(standard64(engine, n)) / math.log(1 - p))
    return convert(trials, of.np) if of.is_floating_point else trials.astype(np.int64).astype(of.np)


@_in_blocks
def bernoulli(engine: Engine, n: int, of: dtype, p: float, one: Array | None = None) -> Array:
    """Ones (or `one`, without dims) with probability p, else zeros; RuntimeError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    _need(of, _NUMBERS | {dt.bool_}, "bernoulli_scalar_cpu_", n)
    if n <= FEW:
        kept = engine.take(UNITS_OF_PAIRS, (n,), False) < p
    else:  # u < p for u = word / 2^53, compared as integers
        words = engine.words64(n)
        words &= np.uint64((1 << 53) - 1)
        kept = words < np.uint64(math.ceil(p * 2.0**53))
    return kept.astype(of.np) if one is None else np.multiply(kept, one)


def bernoulli_each(like: Array, of: dtype) -> Callable[[Engine, Array], Array]:
    """What draws ones with probability p[i], else zeros; double-precision p compare with double draws."""
    if not like.size:
        return lambda engine, p: np.empty(p.shape, of.np)
    _need(of, _NUMBERS | {dt.bool_}, "bernoulli_tensor_cpu_self_")
    _need(dt.from_numpy_dtype(like.dtype), FLOATS, "bernoulli_tensor_cpu_p_")
    double = like.dtype == np.float64
    exact, seen = np.dtype("f8" if double else "f4"), np.dtype("u8" if double else "u4")
    one = int(np.ones((), exact).view(seen))

    converts = like.dtype != exact or not like.flags.c_contiguous

    def run(engine: Engine, p: Array) -> Array:
        p = p.astype(exact, "C") if converts else p
        bits = p.view(seen)  # from 0 to 1 they rise; those of nan and of negative numbers are greater
        if bits.item(bits.argmax()) > one and not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false. bernoulli: "
                "probabilities must be in [0, 1]"
            )
        units = engine.take(UNITS_OF_PAIRS if double else UNITS, p.shape, False)
        return (units < p).astype(of.np)

    return run
