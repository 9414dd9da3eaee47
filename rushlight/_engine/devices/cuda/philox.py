"""PyTorch's random numbers on CUDA: Philox4x32-10, as curand counts it.

The key is the seed. A thread's counter is (offset / 4, thread): each step gives four words. Kernels give
every thread one step at a time and four numbers (two where they take 64 bits) that lie a whole grid apart; so
the words of a step, one after the other, are the numbers in the order of memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core.device import device

if TYPE_CHECKING:  # each device makes its generator
    from rushlight._engine.devices.cuda.device import Device

Array = np.ndarray[Any, Any]
_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_MULTIPLIERS = tuple(map(np.uint64, MULTIPLIERS))
WEYL = 0x9E3779B9, 0xBB67AE85
# Threads of a block in PyTorch's kernels that draw.
BLOCK = 256
STATE_BYTES = 16
# What a new torch.Generator starts from.
DEFAULT_SEED = 67280421310721
_f32 = np.float32


class Philox:
    """The generator of one device: a seed and an offset, in numbers that each thread has used."""

    def __init__(self, backend: Device) -> None:
        self.backend = backend
        self.initial_seed, self.offset = 0, 0

    @property
    def where(self) -> device:
        """The device."""
        return self.backend.where

    def manual_seed(self, seed: int) -> None:
        """Restart from a seed in [-2^63, 2^64)."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long: a seed lies in [-2^63, 2^64)")
        self.initial_seed, self.offset = seed % (1 << 64), 0

    def seed(self) -> int:
        """Restart from a seed of the operating system; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self.initial_seed

    def get_state(self) -> Array:
        """The state as 16 bytes: seed and offset."""
        return np.array([self.initial_seed, self.offset], np.uint64).view(np.uint8)

    def set_state(self, state: Array) -> None:
        """Resume from `get_state`'s bytes; RuntimeError for others."""
        if state.size not in (STATE_BYTES, 8):
            raise RuntimeError("RNG state is wrong size")
        words = np.frombuffer(np.ascontiguousarray(state).tobytes(), np.uint64)
        self.initial_seed, self.offset = int(words[0]), int(words[1]) if words.size > 1 else 0

    def take(self, numbers: int) -> Any:
        """(seed, offset) for work in which each thread uses at most so many numbers.

        It is unpacked when the work is done: in a graph it is another one in each replay.
        """
        count = -(-numbers // 4) * 4
        captures = self.backend.captures
        if captures:
            capture = self.backend.capture
            if capture is not None:
                return capture.draws.take(self, count)
            if self is self.backend.philox and not all([c.live for c in list(captures.values())]):
                raise RuntimeError("Offset increment outside graph capture encountered unexpectedly.")
        found = self.initial_seed, self.offset
        self.offset += count
        return found

    def threads(self, count: int) -> int:
        """How many threads a kernel has that draws `count` numbers."""
        most = self.backend.card.processors * (
            (
                1024
                if self.backend.card.capability[0] == 7 and (self.backend.card.capability[1] == 5)
                else 2048
            )
            // BLOCK
        )
        return min(most, -(-count // BLOCK)) * BLOCK

    def claim(self, count: int, each: int = 4) -> tuple[Any, int]:
        """((seed, offset), threads) for a kernel that draws `count` numbers, `each` a step of a thread."""
        threads = self.threads(count)
        steps = (count - 1) // (threads * each) + 1 if count else 0
        return self.take(steps * 4), threads


def words(seed: int, offset: int, threads: int, first: int = 0) -> list[Array]:
    """The four words (uint32) that each of so many threads gets at an offset, from thread `first` on."""
    at = offset // 4
    number = np.arange(first, first + threads, dtype=np.uint64)
    c = [
        np.full(threads, at & 0xFFFFFFFF, np.uint64),
        np.full(threads, at >> 32, np.uint64),
        number & _MASK,
        number >> _HALF,
    ]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(ROUNDS):
        a, b = _MULTIPLIERS[0] * c[0], _MULTIPLIERS[1] * c[2]
        c = [(b >> _HALF) ^ c[1] ^ np.uint64(k0), b & _MASK, (a >> _HALF) ^ c[3] ^ np.uint64(k1), a & _MASK]
        k0, k1 = (k0 + WEYL[0]) & 0xFFFFFFFF, (k1 + WEYL[1]) & 0xFFFFFFFF
    return [x.astype(np.uint32) for x in c]


def drawn(claim: tuple[Any, int], count: int, make: Callable[[list[Array]], list[Array]]) -> Array:
    """`count` numbers in a row; make(words of a step) gives the numbers that lie a grid apart."""
    (seed, offset), threads = claim
    parts: list[Array] = []
    have = 0
    while have < count:
        left = count - have
        step = make(words(seed, offset, min(threads, left)))
        step = step[:1] if left < threads else step
        parts += step
        have += threads * len(step)
        offset += 4
    return np.concatenate(parts)[:count] if parts else make(words(seed, offset, 0))[0]


# --- words to numbers -----------------------------------------------------------------------------


def uniform32(four: list[Array]) -> list[Array]:
    """curand_uniform4: float32 of (0, 1]."""
    return [x.astype(_f32) * _f32(2.0**-32) + _f32(2.0**-33) for x in four]


def _joined(low: Array, high: Array) -> Array:
    return low.astype(np.uint64) ^ (high.astype(np.uint64) << np.uint64(21))


def uniform64(four: list[Array]) -> list[Array]:
    """curand_uniform2_double: float64 of (0, 1]."""
    return [_joined(a, b) * 2.0**-53 + 2.0**-54 for a, b in (four[:2], four[2:])]


def normal32(four: list[Array]) -> list[Array]:
    """curand_normal4: float32, by Box and Muller."""
    found = []
    for x, y in (four[:2], four[2:]):
        u = x.astype(_f32) * _f32(2.0**-32) + _f32(2.0**-33)
        v = y.astype(_f32) * _f32(2.0**-32 * 2 * np.pi) + _f32(2.0**-33 * 2 * np.pi)
        radius = np.sqrt(_f32(-2) * np.log(u))
        found += [radius * np.sin(v), radius * np.cos(v)]
    return found


def normal64(four: list[Array]) -> list[Array]:
    """curand_normal2_double: float64."""
    u = _joined(*four[:2]) * 2.0**-53 + 2.0**-54
    v = _joined(*four[2:]) * (2.0**-53 * 2) + 2.0**-53
    radius = np.sqrt(-2 * np.log(u))
    return [radius * np.sin(np.pi * v), radius * np.cos(np.pi * v)]


def integers32(four: list[Array]) -> list[Array]:
    """curand4: the words."""
    return four


def integers64(four: list[Array]) -> list[Array]:
    """Two numbers of 64 bits."""
    return [(a.astype(np.uint64) << _HALF) | b.astype(np.uint64) for a, b in (four[:2], four[2:])]
