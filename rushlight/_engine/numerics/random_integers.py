"""Random integers and permutations from an Engine's words, as PyTorch's."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.conversion import Array, convert, overflow
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.services import service
from rushlight._engine.numerics.distributions import DIGITS, not_implemented
from rushlight._engine.numerics.rng import Engine, WordTransform

LOWEST = -(1 << 63)
# PyTorch spends 64 bits on ranges from here on: the remainder of 32 would favour small numbers.
_WIDE_RANGE = 1 << 28


def integers(engine: Engine, n: int, of: dtype, low: int, high: int | None) -> Array:
    """Integers of [low, high), or up to the largest of the dtype when high is None.

    Raises RuntimeError where the range is empty or does not fit the dtype.
    """
    if high is None and low == LOWEST:
        return _all_64_bits(engine, n, of)
    low, span, few = (ranged.__wrapped__ if of in DIGITS else ranged)(of, low, high)  # floating ones may warn
    if few is not None:
        return engine.take(few, (n,))
    words = engine.words64(n)
    words %= np.uint64(span % (1 << 64) or 1)
    return _shifted(words.view(np.int64), low, of)


@lru_cache(maxsize=64)
def ranged(of: dtype, low: int, high: int | None) -> tuple[int, int, WordTransform | None]:
    """The first integer, how many there are, and how they are made of single words, if so."""
    first, last = _narrowed(of, low, high)
    _check_fits(of, first, last)
    span = last - first + 1

    few = WordTransform(
        lambda words: _shifted((words % np.uint32(span)).astype(np.int64), first, of), of=of.np
    )
    return first, span, few if span < _WIDE_RANGE else None


def _shifted(offsets: Array, low: int, of: dtype) -> Array:
    if low:
        offsets += np.int64(low)  # arrays wrap silently
    return convert(offsets, of.np)


def _all_64_bits(engine: Engine, n: int, of: dtype) -> Array:
    if not n:
        return np.empty(0, of.np)
    if of not in (dt.int64, dt.float64, dt.float32, dt.bfloat16):
        if of not in (dt.uint8, dt.int8, dt.int16, dt.int32):
            not_implemented("random_full_64_bits_range_kernel_cpu", of)
        raise RuntimeError(
            "random_full_64_bits_range_kernel_cpu handles only int64, double, float "
            f"and bfloat16, got {of.name}"
        )
    return convert(engine.words64(n).view(np.int64), of.np)


def _narrowed(of: dtype, low: int, high: int | None) -> tuple[int, int]:
    """The first and the last integer that stay within [low, high) once rounded to the dtype."""
    digits = DIGITS.get(of)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if of.is_complex or of in dt.FLOAT8:
        raise RuntimeError(
            f"check_random_bounds handles only integral, floating-point and boolean types, got {of.name}"
        )
    if digits is None:
        largest = 1 if of is dt.bool_ else int(np.iinfo(of.np).max)
        return low, largest if high is None else high - 1
    low = _within(of, low, 1, digits)
    end = (1 << digits) + 1 if high is None else _within(of, high, -1, digits)
    if low >= end:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to "
            f"dtype, but got from={low} >= to={end}"
        )
    return low, end - 1


def _rounded(of: dtype, value: int) -> int:
    made = convert(np.array(value, np.int64), of.np).astype(np.float64).item()
    return int(made) if abs(made) < 2.0**63 else LOWEST  # as the processor converts what is too big


def _within(of: dtype, bound: int, sign: int, digits: int) -> int:
    """A bound moved on (sign 1, the lower one) or back until what lies next to it, rounded, is within."""
    nearest = _rounded(of, bound + sign)
    beyond = nearest < bound if sign > 0 else nearest >= bound
    return nearest + sign * (1 << abs(bound + sign).bit_length() - digits) if beyond else bound


def _check_fits(of: dtype, low: int, last: int) -> None:
    if of is dt.bool_:
        least, most = 0, 1
    elif of.is_floating_point:
        finfo: Any = ml_dtypes.finfo
        most = int(float(finfo(of.np).max))
        least = -most
    else:
        info = np.iinfo(of.np)
        least, most = int(info.min), min(int(info.max), (1 << 63) - 1)
    for name, bound in (("from", low), ("to - 1", last)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {dt.C_NAMES[of.name]}, got {bound}")
        digits = DIGITS.get(of)
        if digits is not None and abs(bound) > 1 << digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{dt.C_NAMES[of.name]} can support discrete uniform distribution only within this range. "
                "This warning will become an error in version 1.7 release, please fix the code in advance"
            )


def whole_range(engine: Engine, n: int, of: dtype) -> Array:
    """Integers from 0 to the largest of an integer dtype, or to 2^digits of a floating one."""
    if not n:
        return np.empty(0, of.np)
    if of in (dt.int64, dt.float64):
        span = (1 << 63) if of is dt.int64 else (1 << 53) + 1
        return convert((engine.words64(n) % np.uint64(span)).view(np.int64), of.np)
    if of in DIGITS:
        span = (1 << DIGITS[of]) + 1
    elif of in (dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32):
        span = 2 if of is dt.bool_ else int(np.iinfo(of.np).max) + 1
    else:
        not_implemented("random_kernel_cpu", of)
    return convert((engine.words32(n) % np.uint32(span)).astype(np.int64), of.np)


@lru_cache(maxsize=64)
def check_permutation(n: int, of: dtype) -> None:
    """RuntimeError unless 0 .. n - 1 exist in the dtype; NotImplementedError for its others."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    digits = DIGITS.get(of)
    if digits is not None and of is not dt.bfloat16 and n > (1 << digits) + 1:
        raise RuntimeError(f"n cannot be greater than {(1 << digits) + 1} for {of.legacy} type.")
    if of.category == dt.INTEGRAL and n - 1 > np.iinfo(of.np).max:
        overflow(f"{of.name}_t")
    if of not in DIGITS and of not in (dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64):
        not_implemented("randperm", of)


_WORDS = WordTransform(lambda words: words, of=np.dtype(np.uint32))


def permutation(engine: Engine, n: int, of: dtype) -> Array:
    """0 .. n - 1 in random order, by the exchanges of Fisher and Yates."""
    check_permutation(n, of)
    places = np.arange(n, dtype=np.int64)
    if n > 1:
        short = n < (1 << 32) // 20
        words = engine.take(_WORDS, (n - 1,), False) if short else engine.words64(n - 1)
        exchange = service("exchanges")() if short else None
        if exchange is None or not exchange(places, words):
            places = exchanged(words)
    return convert(places, of.np)


def exchanged(words: Array) -> Array:
    """0 .. n - 1 after the exchanges of places i and target[i] = i + words[i] % (n - i).

    Done without a loop: what lies at place i when its step comes was put there by the last earlier
    step that had i for target, and was then at that step's own place, and so on back; `origin`
    follows these links, doubling its stride.  Step i takes what the step before it with the same
    target left there.
    """
    n = len(words) + 1
    step = np.arange(n, dtype=np.int64)
    target = step.copy()
    target[:-1] += words % np.arange(n, 1, -1, dtype=words.dtype)
    same, last = _previous_uses(target)
    origin = np.where(last < 0, step, last)
    further = origin[origin]
    while not np.array_equal(origin, further):
        origin, further = further, further[further]
    return np.where(same < 0, target, origin[same])


def _previous_uses(target: Array) -> tuple[Array, Array]:
    """For each step i: the last step before i whose target is target[i], and whose is i; or -1."""
    n = len(target)
    keys = (target.astype(np.uint64) << np.uint64(32)) | np.arange(n, dtype=np.uint64)
    keys.sort()  # by target, then by step: keys of integers sort several times faster than indices
    places, steps = (keys >> np.uint64(32)).view(np.int64), (keys & np.uint64(0xFFFFFFFF)).view(np.int64)
    before = np.full(n, -1)
    before[1:] = np.where(places[1:] == places[:-1], steps[:-1], -1)
    same = np.empty(n, np.int64)
    same[steps] = before
    last = np.full(n, -1)
    ends = np.append(places[1:] != places[:-1], True)
    last[places[ends]] = steps[ends]
    return same, np.where(last == np.arange(n), same, last)
