"""torch.quasirandom: Sobol's sequences, which fill a cube more evenly than random numbers do.

A point is the last one XOR a direction number; which of them is told by the point's number. A scrambled
sequence has direction numbers multiplied by random triangular matrices of bits, and a random shift.
numerics/sobol.npz holds what the direction numbers start from (tests/goldens/record_sobol.py says how).
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine import numerics

__all__ = ["SobolEngine"]
_FILE = os.path.join(os.path.dirname(numerics.__file__), "sobol.npz")


@cache
def _table() -> tuple[Any, Any, Any, Any]:
    """Degrees and polynomials of all dimensions but the first; bits of first numbers, and where they end."""
    with np.load(_FILE) as file:
        degrees, polynomials, first = file["degrees"].astype(np.int64), file["polynomials"], file["first"]
    ends = np.cumsum(degrees * (degrees - 1) // 2)
    return degrees, polynomials.astype(np.int64), np.unpackbits(first), ends


def _directions(dimension: int, bits: int) -> Any:
    """The direction numbers, int64 of dimension rows and `bits` columns."""
    degrees, polynomials, first, ends = _table()
    m = np.ones((dimension, bits), np.int64)
    for s in np.unique(degrees[: dimension - 1]).tolist():
        rows = np.flatnonzero(degrees[: dimension - 1] == s)
        begins = ends[rows] - s * (s - 1) // 2
        for j in range(1, s):
            digits = first[begins[:, None] + j * (j - 1) // 2 + np.arange(j)].astype(np.int64)
            m[rows + 1, j] += (digits << np.arange(1, j + 1)).sum(1)
        for j in range(s, bits):
            found = m[rows + 1, j - s] ^ (m[rows + 1, j - s] << s)
            for i in range(1, s):
                found ^= (polynomials[rows] >> i & 1) * (m[rows + 1, j - i] << i)
            m[rows + 1, j] = found
    return m << (bits - 1 - np.arange(bits))


class SobolEngine:
    """Points of a Sobol sequence in [0, 1)^dimension, one after the other.

    dimension: 1 to 21201, else ValueError. scramble (False): random, by `seed` or the default generator.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        cpu = torch.device("cpu")
        self.sobolstate = torch.from_numpy(_directions(dimension, self.MAXBIT)).to(cpu)
        self.shift = torch.zeros(dimension, dtype=torch.long, device=cpu)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        n, bits = self.dimension, self.MAXBIT
        drawn = torch.randint(2, (n, bits), device=torch.device("cpu"), generator=generator).numpy()
        self.shift = torch.from_numpy((drawn << np.arange(bits)).sum(1))
        lower = torch.randint(2, (n, bits, bits), device=torch.device("cpu"), generator=generator).numpy()
        lower = np.tril(lower, -1) + np.eye(bits, dtype=np.int64)
        places = bits - 1 - np.arange(bits)
        digits = self.sobolstate.numpy()[:, None] >> places[:, None] & 1
        self.sobolstate = torch.from_numpy(((lower @ digits & 1) << places[:, None]).sum(1))

    def _sequence(self, n: int) -> tuple[Any, Any]:
        """The next n points after the first one, as integers of MAXBIT bits, and where it stands then."""
        start = max(self.num_generated - 1, 0)
        numbers = np.arange(start, start + n)
        # The lowest bit that is 0 says which direction number is next.
        lowest = np.log2(~numbers & (numbers + 1)).astype(np.int64)
        steps = self.sobolstate.numpy()[:, lowest]
        found = np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[:, None], steps], 1), 1)
        return torch.from_numpy(found[:, 1:].T.copy()), torch.from_numpy(found[:, -1].copy())

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next n points, of shape (n, dimension); dtype: get_default_dtype(). Into `out` if given."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        if n < first:
            missing = n - first
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {missing}: [{missing}, {self.dimension}]"
            )
        found, self.quasi = self._sequence(n - first)
        result = found.to(dtype) / 2**self.MAXBIT
        if first:
            result = torch.cat((self._first_point.to(dtype), result), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2^m points; ValueError unless the number of all points is then a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} "
                f"points have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you "
                "still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Past the next n points."""
        self.quasi.copy_(self._sequence(n - (self.num_generated == 0))[1])
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        text = f"dimension={self.dimension}"
        text += ", scramble=True" if self.scramble else ""
        return f"{type(self).__name__}({text}{'' if self.seed is None else f', seed={self.seed}'})"
