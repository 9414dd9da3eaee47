"""The random engine: NumPy's MT19937 read, seeded and saved exactly as PyTorch's CPU generator.

An `Engine` hands out raw 32-bit and 64-bit words in bulk; numerics/distributions.py and its neighbours
turn them into numbers.  Its state in bytes is PyTorch's, so that either can resume the other's.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from rushlight._engine.core.services import service

Array = np.ndarray[Any, Any]

DEFAULT_SEED = 67280421310721  # what PyTorch gives a new generator
STATE_BYTES = 5056
_WORDS = 624
_MASK_53 = (1 << 53) - 1
_HALF = np.array(32, np.uint64)
# Below this many words a bulk call costs more to set up than its faster loop wins back.
_BULK = 512
# Up to so many words are cut out of what is made of a whole block; so many times without a look at the state.
FEW, _RUN = 128, 64

_FLOAT32 = np.dtype(np.float32)
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "normal",
            "has_normal",
            "normal32",
            "has_normal32",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)


@dataclass(frozen=True, eq=False)
class WordTransform:
    """How numbers are made of words: by `make`, of many of them, as many of each group.

    words: to a number.  of: the numbers' dtype.  pairs: whether a normal that is left of an earlier pair
    comes before them.  fewer: how fewer numbers than a group are made.
    """

    make: Callable[[Array], Array]
    words: int = 1
    group: int = 1
    of: Any = _FLOAT32
    pairs: bool = False
    fewer: WordTransform | None = None


class GivenWords:
    """Known words in an Engine's place: what draws a fixed count of words for a number makes many at once."""

    __slots__ = ("_given", "lock", "normal")

    def __init__(self, words: Array) -> None:
        self._given, self.lock = words, nullcontext()
        self.normal: float | None = None

    def words32(self, n: int) -> Array:
        words, self._given = self._given[:n], self._given[n:]
        return words

    def words64(self, n: int) -> Array:
        return paired(self.words32(2 * n))

    def double(self) -> float:
        return (int(self.words64(1)[0]) & _MASK_53) * 2.0**-53

    def take(self, few: WordTransform, sizes: tuple[int, ...], own: bool = True) -> Array:
        return few.make(self.words32(prod(sizes) * few.words)).reshape(sizes)


class Engine:
    """A stream of random words, its seed, and the second normal of the last Box-Muller pair.

    `lock` serialises draws: several draws that belong together are made under it. Each look at the words, or
    at the position, is made in `exclusive()`: NumPy's own lock is re-entrant from 2.4 on only, so NumPy is
    never called by who holds it.
    """

    __slots__ = (
        "initial_seed",
        "normal",
        "normal32",
        "lock",
        "memory",
        "_words",
        "_numpy",
        "_bulk",
        "_position",
        "_stamp",
        "_block",
        "_tables",
        "_run",
    )

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._numpy = np.random.MT19937(0)
        self._bulk = np.random.Generator(self._numpy)
        # NumPy's state in place: 624 words and the position of the next one.
        address = self._numpy.ctypes.state_address
        block: Any = (ctypes.c_uint32 * (_WORDS + 1)).from_address(address)
        self.memory = np.frombuffer(block, np.uint32)  # is true in `exclusive()`
        self._position = ctypes.c_uint32.from_address(address + 4 * _WORDS)
        self._stamp = ctypes.c_uint64.from_address(address)  # two words of a block tell it from others
        self._block, self._tables = -1, dict[WordTransform, tuple[int, Array]]()
        # A part of a table that is given out: how, in what sizes, what comes next, where the part ends, and
        # the words that each takes.
        self._run: tuple[WordTransform, tuple[int, ...], Iterator[Array], int, int] | None = None
        self.lock, self._words = threading.RLock(), threading.RLock()
        self.normal32: float | None = None  # PyTorch keeps one; only its state carries it
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Restart from `seed`, an integer in [-2^63, 2^64); negative ones count modulo 2^64."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(
                f"Overflow when unpacking long long: expected a seed in [-2**63, 2**64), got {seed}"
            )
        with self.lock:
            self.initial_seed = seed % (1 << 64)
            self.normal: float | None = None
            self.normal32 = None
            with self.exclusive():
                np.random.RandomState(self._numpy).seed(self.initial_seed % (1 << 32))

    def seed(self) -> int:
        """Restart from a seed of the operating system; returns it."""
        fresh = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(fresh)
        return fresh

    def words32(self, n: int) -> Array:
        """The next `n` words, uint32."""
        if n < _BULK:
            return self.single_words(n)
        words = np.empty(n, np.uint32)
        fill = service("generator words")()
        with self.exclusive():
            if fill is not None and fill(words, self.memory):
                return words
            return self._bulk.integers(0, 1 << 32, n, np.uint32)

    def words64(self, n: int) -> Array:
        """The next `n` pairs of words, uint64; the first word of a pair is the upper half."""
        return paired(self.words32(2 * n))

    def cut(self, few: WordTransform, sizes: tuple[int, ...]) -> Array | None:
        """The next numbers in these sizes, which may be a part of a table; None where there are many.

        Programs that draw few at a time thus spend their time on 624 words at once, and on cutting them up.
        """
        run = self._run
        if run is not None and run[0] is few and run[1] == sizes:
            for made in run[2]:  # one step, which no other thread comes between: so no lock
                return made
        return self._begin(few, sizes)

    def _begin(self, few: WordTransform, sizes: tuple[int, ...]) -> Array | None:
        size, asked = prod(sizes), few
        n = size * few.words
        fewer = few.fewer
        if fewer is not None and n < few.group:
            few, n = fewer, size * fewer.words
        if not 0 < n <= FEW or n % few.group or (few.pairs and self.normal is not None):
            return None
        with self._words:
            self._settle()
            at = self._position.value
            if at == _WORDS:
                self._numpy.random_raw()  # the next block, of which nothing is taken yet
                self._position.value = at = 0
            if at + n > _WORDS:
                return few.make(self.single_words(n)).reshape(sizes)
            rest = self._rest(few, at)
            count = min(rest.size // size, _RUN)
            others = iter(rest[: count * size].reshape(count, *sizes))
            # The position is behind all of them, until `_settle`.
            self._position.value = end = at + n * count
            first: Array = next(others)
            self._run = asked, sizes, others, end, n
            return first

    def _settle(self) -> None:
        """End the run: the position is that of the next word. The caller has the lock."""
        run, self._run = self._run, None
        if run is not None:
            left = len(list(run[2]))  # in one step, too: whoever still has the run finds nothing
            if left and self._position.value == run[3] and self._stamp.value == self._block:
                self._position.value -= left * run[4]

    def exclusive(self) -> threading.RLock:
        """The lock in which words are read and taken, for `with`; the position is that of the next word."""
        if self._run is not None:
            with self._words:
                self._settle()
        return self._words

    def take(self, few: WordTransform, sizes: tuple[int, ...], own: bool = True) -> Array:
        """The next numbers in these sizes, made of single words, in memory of their `own` or in a table."""
        found = self.cut(few, sizes)
        if found is None:
            return few.make(self.words32(prod(sizes) * few.words)).reshape(sizes)
        return found.copy() if own else found

    def _rest(self, few: WordTransform, at: int) -> Array:
        """The numbers of the block's words from `at` on."""
        if self._stamp.value != self._block:
            self._block, self._tables = self._stamp.value, {}
        first, numbers = self._tables.get(few, (at, None))
        if numbers is None or (at - first) % few.group:
            self._position.value = first = at % few.group
            numbers = few.make(self.words32((_WORDS - first) // few.group * few.group))
            self._tables[few] = first, numbers
        return numbers[(at - first) // few.words :]

    def single_words(self, n: int) -> Array:
        """The next `n` words, uint32, made by NumPy one at a time."""
        with self.exclusive():
            return self._numpy.random_raw(n).astype(np.uint32)

    def double(self) -> float:
        """One uniform of [0, 1) in double precision, for samplers that draw one by one."""
        raw = self._numpy.random_raw
        with self.exclusive():
            high, low = raw(), raw()
        return ((high << 32 | low) & _MASK_53) * 2.0**-53

    def get_state(self) -> Array:
        """The state as 5056 bytes (uint8) in PyTorch's layout."""
        with self.lock, self.exclusive():
            words, position = self.memory[:_WORDS], int(self.memory[_WORDS])
            record = np.zeros((), _STATE)
            record["seed"], record["seeded"], record["words"] = self.initial_seed, 1, words
            record["left"] = _WORDS + 1 - position
            unused = position == _WORDS and int(words[0]) == self.initial_seed % (1 << 32)
            record["next"] = 0 if unused else position
            if self.normal is not None:
                record["normal"], record["has_normal"] = self.normal, 1
            if self.normal32 is not None:
                record["normal32"], record["has_normal32"] = self.normal32, 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Resume from `get_state`'s bytes; RuntimeError unless they are a valid state."""
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found "
                f"the input RNG state size to be {state.size}"
            )
        record = np.frombuffer(np.ascontiguousarray(state).tobytes(), _STATE)[0]
        left, following = int(record["left"]), int(record["next"])
        if not (record["seeded"] == 1 and 0 < left <= _WORDS and following <= _WORDS):
            raise RuntimeError(
                "Invalid mt19937 state: expected the bytes of a get_state(), got "
                f"left={left}, next={following}, seeded={int(record['seeded'])}"
            )
        with self.lock:
            self.initial_seed = int(record["seed"])
            self.normal = float(record["normal"]) if record["has_normal"] else None
            self.normal32 = float(record["normal32"]) if record["has_normal32"] else None
            # One word left means that the next draw starts a new block, wherever `next` points.
            position = _WORDS if left == 1 else following
            with self.exclusive():
                self.memory[:_WORDS], self.memory[_WORDS] = record["words"], position


def paired(words: Array) -> Array:
    """Pairs of words (uint32), the first of which is the upper half, in their memory."""
    pairs = words.view(np.uint64)
    if sys.byteorder == "little":
        second = pairs >> _HALF
        pairs <<= _HALF
        pairs |= second
    return pairs


class _OfThread(threading.local):
    engine: Engine | None = None  # the class's: of threads without one of their own


OF_THREAD = _OfThread()


def use_in_thread(engine: Engine | None) -> None:
    """Let this thread draw from `engine` where none is named; None: from the process's, as at first."""
    OF_THREAD.engine = engine


def default_engine() -> Engine:
    """The engine that is used where none is named; made at first use, with a seed of its own."""
    if OF_THREAD.engine is not None:
        return OF_THREAD.engine
    if _OfThread.engine is None:
        engine = Engine()
        engine.seed()
        _OfThread.engine = engine
    return _OfThread.engine


_held: list[Any] = []


def _hold() -> None:
    # A fork in the middle of another thread's draw would leave the child locks that nobody opens.
    engine = _OfThread.engine
    for lock in () if engine is None else (engine.lock, engine.exclusive()):
        lock.acquire()
        _held.append(lock)


def _let_go() -> None:
    # Out of the list first: with the last release another thread may begin to hold them.
    locks, _held[:] = _held[::-1], []
    for lock in locks:
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
