"""torch.quasirandom: points that fill the unit cube evenly."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

import rushlight as torch
from rushlight.tensor.tensor import Tensor

__all__ = ["SobolEngine"]
_BITS = 30


class SobolEngine:
    """Points of a (scrambled) Sobol sequence in [0, 1)^dimension, with PyTorch's numbers.

    dimension: 1 to 21201; beyond 1111 the direction numbers are read from an installed SciPy. scramble: a
    random
    linear matrix scrambling and a digital shift, drawn with `seed`, or by torch's generator. ValueError for
    other dimensions.
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = torch.from_numpy(_directions(dimension).copy())
        self.shift = torch.zeros(dimension, dtype=torch.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**_BITS).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next n points: (n, dimension), of the default dtype if none is given; into `out`, which is
        resized."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        parts = []
        if self.num_generated == 0 and n > 0:
            parts.append(self._first_point.to(dtype))
        values = self._walk(n - len(parts), max(self.num_generated - 1, 0))
        parts.append(torch.from_numpy(values).to(dtype) * 2.0**-_BITS)
        found = torch.cat(parts)
        self.num_generated += n
        return found if out is None else out.resize_as_(found).copy_(found)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points; ValueError unless those drawn then are a power of two, as balance needs."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again; itself."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out n points; itself."""
        self._walk(n - 1 if self.num_generated == 0 else n, max(self.num_generated - 1, 0))
        self.num_generated += n
        return self

    def _walk(self, n: int, start: int) -> np.ndarray[Any, Any]:
        """The next n values (n, dimension) as integers of 30 bits: each differs from the one before by the
        direction of the lowest zero bit of its number."""
        if n <= 0:
            return np.zeros((0, self.dimension), np.int64)
        numbers = np.arange(start, start + n)
        lowest = np.log2(~numbers & (numbers + 1)).astype(np.int64)
        steps = self.sobolstate.numpy().T[lowest]
        steps[0] ^= self.quasi.numpy()
        values = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi.copy_(torch.from_numpy(values[-1].copy()))
        return values

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        digits = torch.randint(2, (self.dimension, _BITS), generator=generator)
        self.shift = torch.mv(digits, torch.pow(2, torch.arange(_BITS)))
        lower = torch.randint(2, (self.dimension, _BITS, _BITS), generator=generator).tril().numpy()
        lower[:, np.arange(_BITS), np.arange(_BITS)] = 1
        places = np.arange(_BITS - 1, -1, -1)
        # Bits of the direction numbers, the highest first: (dimension, bit, direction).
        bits = (self.sobolstate.numpy()[:, None, :] >> places[:, None]) & 1
        mixed = (lower @ bits) & 1
        self.sobolstate = torch.from_numpy((mixed << places[:, None]).sum(1))

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


@cache
def _directions(dimension: int) -> np.ndarray[Any, Any]:
    """(dimension, 30): the direction numbers of each dimension."""
    found = np.zeros((dimension, _BITS), np.int64)
    for row, (polynomial, first) in zip(found, _table(dimension), strict=True):
        degree = polynomial.bit_length() - 1
        row[: len(first)] = first
        if degree == 0:
            row[:] = 1
        taps = [k for k in range(degree) if polynomial >> (degree - 1 - k) & 1]
        for j in range(degree, _BITS if degree else 0):
            value = int(row[j - degree])
            for k in taps:
                value ^= int(row[j - k - 1]) << (k + 1)
            row[j] = value
    return found << np.arange(_BITS - 1, -1, -1)


def _table(dimension: int) -> list[tuple[int, list[int]]]:
    """The primitive polynomials and first direction numbers of Joe and Kuo."""
    with open(os.path.join(os.path.dirname(__file__), "base", "sobol.tsv"), encoding="utf-8") as file:
        lines = [line.split("\t") for line in file]
    if dimension <= len(lines):
        return [
            (int(polynomial), [int(m) for m in first.split()]) for polynomial, first in lines[:dimension]
        ]
    spec = find_spec("scipy.stats")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(
            f"SobolEngine: direction numbers of more than {len(lines)} dimensions are read from "
            f"SciPy, which is not installed; expected scipy, or dimension <= {len(lines)}"
        )
    stored = np.load(os.path.join(spec.submodule_search_locations[0], "_sobol_direction_numbers.npz"))
    return [
        (int(polynomial), [int(m) for m in first[: max(int(polynomial).bit_length() - 1, 1)]])
        for polynomial, first in zip(stored["poly"][:dimension], stored["vinit"][:dimension], strict=True)
    ]
