"""The arrays and options of the printing goldens; NumPy only, so that test and recorder agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

_SCALARS = (
    np.float32,
    np.float64,
    np.float16,
    np.int64,
    np.int32,
    np.int8,
    np.uint8,
    np.uint16,
    np.bool_,
    np.complex64,
    np.complex128,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
)
DTYPES = {np.dtype(kind).name: np.dtype(kind) for kind in _SCALARS}


class Case(NamedTuple):
    """One tensor to print: its data, its dtype's name and the options in force."""

    data: np.ndarray[Any, Any]
    dtype: str
    options: dict[str, Any]


_HAND = [
    [],
    [[], []],
    0.0,
    1.0,
    -1.5,
    1e-5,
    1e9,
    float("nan"),
    float("inf"),
    [float("nan"), 1.0],
    [float("inf"), 1.5],
    [-0.0, 0.0],
    [[float("nan"), -0.0]],
    [1.0, 2.0, 3.0],
    [1.0, 1000.0, 1001.0],
    [1.0, 1001.5],
    [0.0001, 0.1],
    [0.00009, 0.0001],
    [1e8, 1.0],
    [1.0001e8],
    [1e8, 1e8 + 8],
    [1e-38, 1e38],
    [1e-300, 1e300],
    [123456.789, 0.001],
    [99999.99999, 1.5],
    [-1.0, 10.0],
    [-1000.0, 1.0],
    [0.5, float("nan"), float("-inf")],
    [1e10, float("inf")],
    [3.0, -12.0],
    [[1.0, 2.0], [3.0, 4.5]],
    [[[1.0]]],
    [[[[1.0, -2.0]]], [[[3.0, 4.0]]]],
    [2.0**31, 5.0],
    [1 + 2j, -3.5 - 4j],
    [0j, 1j],
    [1e-5 + 1j, 1 + 1e5j],
    [complex(float("nan"), float("-inf"))],
    True,
    [True, False],
    [[True], [False]],
    [0, 255, 7],
    [-128, 127],
    [10**9, -(10**9)],
]
_OPTIONS: list[dict[str, Any]] = [
    {},
    {"precision": 2},
    {"precision": 0},
    {"precision": 8},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 30},
    {"linewidth": 120},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 0, "edgeitems": 2},
    {"edgeitems": 0, "threshold": 1},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "default", "linewidth": 50},
]


def _hand_written() -> Iterator[Case]:
    for data in _HAND:
        array = np.asarray(data)
        for options in ({}, {"sci_mode": True}, {"precision": 2, "linewidth": 24}):
            yield Case(array, array.dtype.name, options)


def _random_array(rng: np.random.RandomState, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    x = np.asarray(rng.standard_normal(shape)) * 10.0 ** rng.uniform(-5, 9)
    style = rng.randint(6)
    if style == 0:
        x = np.round(x)
    elif style == 1:
        x = x * 10.0 ** rng.uniform(-4, 4, shape)
    elif style == 2:
        special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], size=shape)
        x = np.where(rng.uniform(size=shape) < 0.2, special, x)
    elif style == 3:
        x = np.abs(x)
    return np.asarray(x)


def _as_dtype(x: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Values that every dtype holds without overflow, so that casts agree everywhere."""
    kind = DTYPES[name]
    if kind.kind == "c":
        pairs = np.stack([x, x[..., ::-1] if x.ndim else 2 * x], axis=-1)
        return pairs.view(np.complex128)[..., 0].astype(kind)
    if kind.kind in "iub":
        info = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
        low, high = max(info[0], -(2**50)), min(info[1], 2**50)
        return np.nan_to_num(x, posinf=0, neginf=0).clip(low, high).astype(np.int64).astype(kind)
    with np.errstate(all="ignore"):
        return x.clip(-400, 400).astype(kind) if kind.itemsize == 1 else x.astype(kind)


def _random(count: int) -> Iterator[Case]:
    rng = np.random.RandomState(20240)
    names = list(DTYPES)
    for i in range(count):
        dims = rng.randint(0, 5)
        limit = {0: 1, 1: 60, 2: 14, 3: 6, 4: 4}[dims]
        shape = tuple(int(n) for n in rng.randint(0 if rng.uniform() < 0.05 else 1, limit, dims))
        name = names[i % len(names)]
        options = _OPTIONS[rng.randint(len(_OPTIONS))] if rng.uniform() < 0.6 else {}
        yield Case(_as_dtype(_random_array(rng, shape), name), name, options)


def _large() -> Iterator[Case]:
    for shape in (
        (1001,),
        (1000,),
        (40, 50),
        (6, 7, 30),
        (7, 6, 30),
        (2, 2, 400),
        (11, 2, 2, 40),
        (2000, 1),
        (1, 2000),
    ):
        data = np.arange(int(np.prod(shape))).reshape(shape)
        for options in ({}, {"edgeitems": 1}, {"edgeitems": 5, "linewidth": 60}):
            yield Case(data, "int64", options)
            yield Case(np.sin(data).astype(np.float32), "float32", options)


def cases() -> list[Case]:
    """All cases, in a fixed order."""
    return [*_hand_written(), *_random(320), *_large()]
