"""Sample inputs of rows, from their kinds and domains: what the laws are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rushlight._engine.ops.signature import REQUIRED
from rushlight._engine.ops.table import Row

Array = np.ndarray[Any, Any]

# Where a row is smooth and defined, if not on all of (-2, 2).
DOMAINS: dict[str, tuple[float, float]] = {
    "acosh": (1.2, 3.0),
    "log": (0.2, 3.0),
    "log2": (0.2, 3.0),
    "log10": (0.2, 3.0),
    "log1p": (-0.5, 2.0),
    "sqrt": (0.2, 3.0),
    "_deviation": (0.2, 3.0),
    "rsqrt": (0.2, 3.0),
    "asin": (-0.8, 0.8),
    "acos": (-0.8, 0.8),
    "atanh": (-0.8, 0.8),
    "erfinv": (-0.8, 0.8),
    "logit": (0.2, 0.8),
    "lgamma": (0.3, 3.0),
    "digamma": (0.3, 3.0),
    "reciprocal": (0.4, 2.0),
    "pow": (0.3, 2.0),
    "float_power": (0.3, 2.0),
    "xlogy": (0.3, 2.0),
    "_bce_terms": (0.2, 0.8),
    "tan": (-1.0, 1.0),
    "polygamma": (0.3, 3.0),
    "_polygamma": (0.3, 3.0),
    "mvlgamma": (1.2, 3.0),
    "zeta": (1.3, 3.0),
    "igamma": (0.3, 3.0),
    "igammac": (0.3, 3.0),
    "ndtri": (0.2, 0.8),
    "entr": (0.2, 3.0),
    "xlog1py": (0.2, 2.0),
}
# Operands that are not plain floating-point data.
INTEGER_ROWS = frozenset(
    {
        "gcd",
        "lcm",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
        "bitwise_left_shift",
        "bitwise_right_shift",
    }
)
NUMBERS = {
    "alpha": 1.5,
    "value": 0.7,
    "beta": 0.8,
    "threshold": 0.3,
    "negative_slope": 0.2,
    "lambd": 0.4,
    "min_val": -0.5,
    "max_val": 0.6,
    "delta": 0.5,
}


@dataclass(frozen=True)
class Case:
    """Arguments of one call: arrays stand for tensors."""

    name: str
    arguments: dict[str, Any]

    def arrays(self) -> list[Array]:
        """The tensor arguments."""
        return [v for v in self.arguments.values() if isinstance(v, np.ndarray)]


def _array(row: Row, shape: tuple[int, ...], rng: np.random.Generator, dtype: str) -> Array:
    if row.name in INTEGER_ROWS:
        return np.asarray(rng.integers(1, 6, shape))
    low, high = DOMAINS.get(row.name, (-2.0, 2.0))
    return np.asarray(rng.uniform(low, high, shape), dtype)


def pointwise_cases(row: Row, dtype: str = "float64") -> Iterator[Case]:
    """Same shapes, broadcast shapes, 0-d and empty operands; default and other attributes."""
    rng = np.random.default_rng(sum(map(ord, row.name)))
    count = sum(p.is_tensor for p in row.params)
    layouts: dict[str, list[tuple[int, ...]]] = {
        "same": [(3, 4)] * count,
        "zero_dim": [()] * count,
        "empty": [(0, 3)] * count,
    }
    if count > 1:
        layouts["broadcast"] = [(3, 1), *[(1, 4)] * (count - 1)]
    for name, shapes in layouts.items():
        yield Case(name, _arguments(row, iter(list(shapes)), rng, dtype))


def _arguments(
    row: Row, shapes: Iterator[tuple[int, ...]], rng: np.random.Generator, dtype: str
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for p in row.params:
        if p.name == "condition":
            values[p.name] = np.asarray(rng.integers(0, 2, next(shapes)), bool)
        elif p.is_tensor:
            values[p.name] = _array(row, next(shapes), rng, dtype)
        elif p.type == "int" and p.default is REQUIRED:
            values[p.name] = 2
        elif p.is_number and p.default is REQUIRED:
            values[p.name] = NUMBERS.get(p.name, 0.5)
        elif p.is_number and p.default is not None:
            values[p.name] = NUMBERS.get(p.name, p.default)
    return values


def reduce_cases(row: Row, dtype: str = "float64") -> Iterator[Case]:
    """All dims, one, several, kept and not; a 0-d operand."""
    rng = np.random.default_rng(sum(map(ord, row.name)))
    for name, shape, more in (
        ("all", (3, 4), {}),
        ("one", (3, 4), {"dim": 1}),
        ("kept", (3, 4), {"dim": 0, "keepdim": True}),
        ("several", (2, 3, 4), {"dim": (0, 2)}),
        ("zero_dim", (), {}),
    ):
        yield Case(name, {"input": np.asarray(rng.uniform(-2, 2, shape), dtype), **more})


def cases(row: Row, dtype: str = "float64") -> list[Case]:
    """The derived cases of a row; none for kinds whose arguments cannot be guessed."""
    if row.kind == "pointwise":
        return list(pointwise_cases(row, dtype))
    if row.kind == "reduce":
        return list(reduce_cases(row, dtype))
    return []
