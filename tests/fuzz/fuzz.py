"""Random calls beside an installed PyTorch: ops x shapes x strides x dtypes x overlapping views.

    python tests/fuzz/fuzz.py --calls 100000 --seed 0        prints each kind of difference once, and a count

A call is drawn from a seed of its own, so `--seed N --calls 1` draws the N-th again. Operands are views
(transposed, stepped, expanded, offset, several of one memory); results are compared in structure, dtype, shape
and value, operands after the call in their bytes; where one side raises, so must the other, alike.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import rushlight

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTS = ("int64", "int32", "uint8", "int8", "int16")
DTYPES = (*FLOATS, *INTS, "bool", "complex64", "complex128")
# (relative, absolute) slack of values
SLACK = {
    "float32": (2e-5, 2e-6),
    "float64": (1e-9, 1e-10),
    "bfloat16": (2e-2, 1e-2),
    "float16": (3e-3, 1e-3),
    "complex64": (2e-5, 5e-6),
    "complex128": (1e-9, 1e-10),
}


class Draw(random.Random):
    """The choices of one call."""

    def size(self) -> int:
        """A size of a dim: small, at times 0 or above what kernels unroll."""
        return self.choices((0, 1, 2, 3, 4, 5, 17, 70), (1, 4, 6, 6, 4, 3, 1, 0.3))[0]

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        """A shape of low to high dims."""
        return tuple(self.size() for _ in range(self.randint(low, high)))

    def memory(self, count: int, dtype: str, tame: bool) -> Any:
        """A flat torch tensor of drawn numbers; untame ones hold nan, infinities and extremes."""
        t = torch.empty(count, dtype=getattr(torch, dtype))
        g = np.random.default_rng(self.getrandbits(63))
        if dtype == "bool":
            return torch.from_numpy(g.integers(0, 2, count).astype(bool))
        if dtype in INTS:
            low, high = (-9, 10) if tame else (torch.iinfo(t.dtype).min, torch.iinfo(t.dtype).max)
            return torch.from_numpy(g.integers(max(low, torch.iinfo(t.dtype).min), high, count)).to(t.dtype)
        values = g.standard_normal(count) * (1 if tame else self.choice((1, 1e-3, 1e3)))
        if not tame:
            odd = g.random(count) < 0.1
            values[odd] = g.choice(
                [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 1e30], odd.sum()
            )
        if dtype.startswith("complex"):
            values = values + 1j * g.standard_normal(count)
        return torch.from_numpy(values).to(t.dtype)


def twin(t: Any) -> Any:
    """A Rushlight tensor of the same bytes, shape and dtype as a contiguous torch tensor."""
    if t.dtype is torch.bfloat16:
        return rushlight.from_numpy(t.view(torch.int16).numpy().copy()).view(rushlight.bfloat16)
    return rushlight.from_numpy(t.numpy().copy())


class Pair:
    """The same tensor on both sides, and the memory that it is a view of."""

    def __init__(self, mine: Any, theirs: Any, memory: tuple[Any, Any]) -> None:
        self.mine, self.theirs, self.memory = mine, theirs, memory

    def view(self, f: Callable[[Any], Any]) -> Pair:
        """The same view on both sides."""
        return Pair(f(self.mine), f(self.theirs), self.memory)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(self.theirs.shape)


def make(d: Draw, shape: tuple[int, ...], dtype: str, tame: bool = True) -> Pair:
    """A tensor of this shape, laid out in some way."""
    how = d.choice(("plain", "plain", "turned", "stepped", "expanded", "offset"))
    if how == "turned":
        order = d.sample(range(len(shape)), len(shape))
        base = tuple(shape[i] for i in order)
        inner = make(d, base, dtype, tame) if d.random() < 0.4 else _fresh(d, base, dtype, tame)
        return inner.view(lambda t: t.permute(sorted(range(len(order)), key=order.__getitem__)))
    if how == "stepped" and shape:
        k = d.randrange(len(shape))
        base = tuple(2 * n if i == k else n for i, n in enumerate(shape))
        cut = (slice(None),) * k + (slice(d.randint(0, 1), None, 2),)
        return _fresh(d, base, dtype, tame).view(lambda t: t[cut])
    if how == "expanded" and shape:
        k = d.randrange(len(shape))
        base = tuple(1 if i == k else n for i, n in enumerate(shape))
        return _fresh(d, base, dtype, tame).view(lambda t: t.expand(shape))
    if how == "offset" and shape:
        base = (shape[0] + 3, *shape[1:])
        return _fresh(d, base, dtype, tame).view(lambda t: t[2 : 2 + shape[0]])
    return _fresh(d, shape, dtype, tame)


def _fresh(d: Draw, shape: tuple[int, ...], dtype: str, tame: bool) -> Pair:
    flat = d.memory(int(np.prod(shape)), dtype, tame)
    mine, theirs = twin(flat).reshape(shape), flat.clone().reshape(shape)
    return Pair(mine, theirs, (mine, theirs))


def broadcastable(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts with another, most of the time."""
    other = [1 if d.random() < 0.25 else n for n in shape][
        d.randint(0, len(shape)) if d.random() < 0.3 else 0 :
    ]
    return tuple(other) if d.random() > 0.03 else d.shape()


Call = tuple[str, list[Any], dict[str, Any]]
UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor "
    "frac isfinite isinf isnan isneginf isposinf lgamma log log10 log1p log2 logical_not logit neg positive "
    "rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc angle "
    "bitwise_not i0 nan_to_num conj_physical real relu"
).split()
BINARY = (
    "add sub mul div pow maximum minimum fmax fmin atan2 eq ne lt le gt ge logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift remainder fmod floor_divide "
    "copysign hypot nextafter logaddexp logaddexp2 gcd lcm heaviside xlogy true_divide ldexp rsub "
    "isclose float_power"
).split()
REDUCE = (
    "sum mean prod amax amin all any argmax argmin std var logsumexp nansum nanmean count_nonzero max min median "
    "norm cumsum cumprod cummax cummin logcumsumexp sort argsort mode nanmedian aminmax std_mean"
).split()
EVERYWHERE = {
    "max",
    "min",
    "sum",
    "prod",
    "mean",
    "all",
    "any",
    "argmax",
    "argmin",
    "std",
    "var",
    "median",
    "nansum",
    "nanmean",
    "norm",
    "count_nonzero",
    "nanmedian",
}
SHAPES = (
    "transpose permute reshape flatten unsqueeze squeeze expand movedim flip roll narrow select diagonal unfold "
    "unbind split chunk tile repeat t mT swapaxes unflatten rot90 ravel contiguous broadcast_to triu tril "
    "diag_embed view_as as_strided"
).split()


def _unary(d: Draw) -> Call:
    name = d.choice(UNARY)
    return name + ("_" if d.random() < 0.2 else ""), [make(d, d.shape(), d.choice(DTYPES), False)], {}


def _binary(d: Draw) -> Call:
    name, shape, dtype = d.choice(BINARY), d.shape(), d.choice(DTYPES)
    a = make(d, shape, dtype, d.random() < 0.7)
    kind = d.random()
    if kind < 0.25:
        b: Any = d.choice((2, -3, 0.5, 1.5, True, 0, 1e10, 2 + 1j))
    elif kind < 0.4 and shape and shape[0] > 1 and name not in ("nextafter",):
        return _overlapping(d, name, a)
    else:
        b = make(
            d, broadcastable(d, shape), dtype if d.random() < 0.6 else d.choice(DTYPES), d.random() < 0.8
        )
    options = {"alpha": d.choice((2, 0.5, -1))} if name in ("add", "sub", "rsub") and d.random() < 0.2 else {}
    if name == "div" and d.random() < 0.4:
        options["rounding_mode"] = d.choice(("floor", "trunc", None))
    return (
        name + ("_" if d.random() < 0.25 and name not in ("rsub", "isclose", "maximum", "minimum") else ""),
        [a, b],
        options,
    )


def _overlapping(d: Draw, name: str, a: Pair) -> Call:
    if name in ("rsub", "isclose", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2"):
        name = "add"
    return name + "_", [a.view(lambda t: t[:-1]), a.view(lambda t: t[1:])], {}


def _ternary(d: Draw) -> Call:
    name = d.choice(("addcmul", "addcdiv", "lerp", "where", "clamp"))
    shape, dtype = d.shape(), d.choice(DTYPES if name != "lerp" else FLOATS)
    a, b, c = (make(d, s, dtype) for s in (shape, broadcastable(d, shape), broadcastable(d, shape)))
    if name == "where":
        return "where", [make(d, broadcastable(d, shape), "bool"), b, c], {}
    if name == "clamp":
        return "clamp", [a, *d.choice(((b, c), (-1, 1), (None, 2), (0.5, None), (b, None)))], {}
    return name, [a, b, c if name != "lerp" or d.random() < 0.6 else 0.3], {}


def _reduce(d: Draw) -> Call:
    name, shape = d.choice(REDUCE), d.shape()
    dtype = d.choice(DTYPES)
    x = make(d, shape, dtype)
    if name in EVERYWHERE and d.random() < 0.3:
        return name, [x], {}
    dim = d.randint(-len(shape) - (d.random() < 0.05), max(len(shape) - 1, 0))
    options: dict[str, Any] = {"dim": dim}
    if (
        name in ("sum", "mean", "amax", "amin", "std", "var", "logsumexp", "all", "any", "nansum")
        and d.random() < 0.2
    ):
        options["dim"] = tuple(sorted(d.sample(range(len(shape)), d.randint(1, len(shape))))) if shape else 0
    if not name.startswith("cum") and name not in ("logcumsumexp", "sort", "argsort", "count_nonzero"):
        options["keepdim"] = d.random() < 0.4
    if name in ("sort", "argsort"):
        options.update(descending=d.random() < 0.5, stable=True)
    return name, [x], options


def _shape(d: Draw) -> Call:
    name, shape = d.choice(SHAPES), d.shape(1)
    x, n = make(d, shape, d.choice(DTYPES)), len(shape)
    dim, other = d.randrange(-n, n), d.randrange(-n, n)
    size = shape[dim]
    start = d.randint(0, size)
    args: dict[str, list[Any]] = {
        "transpose": [dim, other],
        "swapaxes": [dim, other],
        "permute": [d.sample(range(n), n)],
        "reshape": [d.choice(((-1,), (*shape[::-1],), (1, -1), (shape[0], -1)))],
        "unsqueeze": [d.randint(-n - 1, n)],
        "flatten": sorted((dim % n, other % n)),
        "squeeze": d.choice(([], [dim], [(dim, other)])),
        "expand": [(2, *shape)],
        "broadcast_to": [(2, *shape)],
        "movedim": [dim, other],
        "flip": [d.choice(((dim,), tuple(range(n))))],
        "roll": [d.randint(-5, 5), dim],
        "narrow": [dim, start, d.randint(0, size - start)],
        "select": [dim, d.randint(-size, size)],
        "diagonal": [d.randint(-2, 2), dim, other],
        "unfold": [dim, d.randint(1, 3), d.randint(1, 2)],
        "unbind": [dim],
        "split": [d.randint(1, 3), dim],
        "chunk": [d.randint(1, 4), dim],
        "tile": [(2, 1, 2)],
        "repeat": [d.choice(((2,) * n, (1, 2, *(1,) * n)))],
        "unflatten": [dim, (-1, 1)],
        "rot90": [d.randint(-3, 3)],
        "triu": [d.randint(-2, 2)],
        "tril": [d.randint(-2, 2)],
        "diag_embed": [d.randint(-1, 1)],
        "view_as": [x],
        "as_strided": [(2, 2), (d.randint(0, 2), 1), d.randint(0, 1)],
    }
    return name, [x, *args.get(name, [])], {}


def _index(d: Draw) -> Call:
    shape = tuple(max(n, 1) for n in d.shape(1, 3))
    n, dtype = len(shape), d.choice(DTYPES)
    x, dim = make(d, shape, dtype), d.randrange(n)

    def places(size: tuple[int, ...]) -> Pair:
        flat = torch.tensor([d.randrange(shape[dim]) for _ in range(int(np.prod(size)))], dtype=torch.int64)
        return Pair(twin(flat).reshape(size), flat.reshape(size), (twin(flat), flat))

    part = tuple(d.randint(0, s) if i != dim else d.randint(0, 5) for i, s in enumerate(shape))
    rows = tuple(4 if i == dim else s for i, s in enumerate(shape))
    name = d.choice(
        (
            "gather",
            "index_select",
            "take_along_dim",
            "scatter",
            "scatter_add",
            "index_add",
            "index_copy",
            "masked_fill",
            "masked_select",
            "index_fill",
            "take",
            "getitem",
            "nonzero",
            "cat",
            "stack",
            "topk",
            "unique",
            "bincount",
            "searchsorted",
            "scatter_reduce",
            "kthvalue",
            "masked_scatter",
        )
    )
    src = make(d, rows, dtype)
    calls: dict[str, Callable[[], tuple[list[Any], dict[str, Any]]]] = {
        "gather": lambda: ([x, dim, places(part)], {}),
        "index_select": lambda: ([x, dim, places((4,))], {}),
        "take_along_dim": lambda: (
            [x, places(tuple(3 if i == dim else s for i, s in enumerate(shape))), dim],
            {},
        ),
        "scatter": lambda: (
            [x, dim, places(tuple(min(p, r) for p, r in zip(part, rows, strict=True))), d.choice((src, 2))],
            {},
        ),
        "scatter_add": lambda: (
            [x, dim, places(tuple(min(p, r) for p, r in zip(part, rows, strict=True))), src],
            {},
        ),
        "scatter_reduce": lambda: (
            [
                x,
                dim,
                places(tuple(min(p, r) for p, r in zip(part, rows, strict=True))),
                src,
                d.choice(("sum", "prod", "amax", "amin", "mean")),
            ],
            {"include_self": d.random() < 0.5},
        ),
        "index_add": lambda: ([x, dim, places((4,)), src], {"alpha": d.choice((1, 2, 0.3))}),
        "index_copy": lambda: (
            [
                x,
                dim,
                _distinct(d, shape[dim]),
                make(d, tuple(shape[dim] if i == dim else s for i, s in enumerate(shape)), dtype),
            ],
            {},
        ),
        "masked_fill": lambda: ([x, make(d, broadcastable(d, shape), "bool"), d.choice((0, 2, True))], {}),
        "masked_select": lambda: ([x, make(d, broadcastable(d, shape), "bool")], {}),
        "masked_scatter": lambda: ([x, make(d, shape, "bool"), make(d, (int(np.prod(shape)),), dtype)], {}),
        "index_fill": lambda: ([x, dim, places((3,)), 3], {}),
        "take": lambda: ([x, places((2, 2))], {}),
        "getitem": lambda: ([x, _item(d, shape)], {}),
        "nonzero": lambda: ([x], {}),
        "cat": lambda: ([[x, src, make(d, shape, dtype if d.random() < 0.7 else d.choice(DTYPES))], dim], {}),
        "stack": lambda: ([[x, make(d, shape, dtype)], d.randint(-n - 1, n)], {}),
        "topk": lambda: (
            [make(d, shape, "float64"), d.randint(0, shape[dim]), dim],
            {"largest": d.random() < 0.5},
        ),
        "kthvalue": lambda: ([make(d, shape, "float64"), d.randint(1, shape[dim]), dim], {}),
        "unique": lambda: ([x], {"return_inverse": True, "return_counts": True}),
        "bincount": lambda: ([places((d.randint(0, 6),))], {"minlength": d.randint(0, 3)}),
        "searchsorted": lambda: (
            [_sorted(d, dtype), make(d, d.shape(0, 2), dtype)],
            {"right": d.random() < 0.5},
        ),
    }
    args, options = calls[name]()
    return name, args, options


def _distinct(d: Draw, size: int) -> Pair:
    flat = torch.tensor(d.sample(range(size), size))
    return Pair(twin(flat), flat, (twin(flat), flat))


def _sorted(d: Draw, dtype: str) -> Pair:
    flat = (
        d.memory(5, dtype if dtype not in ("bool", "complex64", "complex128") else "float32", True)
        .sort()
        .values
    )
    mine = twin(flat)
    return Pair(mine, flat, (mine, flat))


def _item(d: Draw, shape: tuple[int, ...]) -> tuple[Any, ...]:
    found: list[Any] = []
    for size in shape[: d.randint(1, len(shape))]:
        a, b = sorted((d.randint(-size, size), d.randint(-size, size)))
        flat = torch.tensor([d.randrange(-size, size) for _ in range(3)])
        found.append(
            d.choice(
                (
                    slice(a, b, d.randint(1, 2)),
                    d.randrange(-size, size),
                    slice(None),
                    None,
                    ...,
                    Pair(twin(flat), flat, (twin(flat), flat)),
                )
            )
        )
    return tuple(found) if sum(f is ... for f in found) < 2 else (0,)


def _product(d: Draw) -> Call:
    dtype = d.choice(("float32", "float64", "bfloat16", "int64", "complex64", "float16"))
    a, b, c, k = (d.randint(0, 6) for _ in range(4))
    name = d.choice(
        (
            "matmul",
            "mm",
            "bmm",
            "addmm",
            "mv",
            "dot",
            "outer",
            "addmv",
            "baddbmm",
            "tensordot",
            "linear",
            "einsum",
            "kron",
        )
    )
    of = {
        "mm": ((a, k), (k, b)),
        "bmm": ((c, a, k), (c, k, b)),
        "addmm": ((a, b), (a, k), (k, b)),
        "mv": ((a, k), (k,)),
        "dot": ((k,), (k,)),
        "outer": ((a,), (b,)),
        "addmv": ((a,), (a, k), (k,)),
        "baddbmm": ((c, a, b), (c, a, k), (c, k, b)),
        "tensordot": ((a, b, k), (b, k, c)),
        "linear": ((c, a, k), (b, k), (b,)),
        "einsum": ((a, b, k), (k, b)),
        "kron": ((a, b), (k, c)),
        "matmul": d.choice(
            (
                ((a, k), (k, b)),
                ((k,), (k, b)),
                ((c, a, k), (k,)),
                ((c, 1, a, k), (2, k, b)),
                ((k,), (k,)),
                ((1, a, k), (c, k, b)),
            )
        ),
    }[name]
    args: list[Any] = [make(d, s, dtype) for s in of]
    if name == "einsum":
        args.insert(0, "abk,kb->ab")
    return name, args, {"dims": 2} if name == "tensordot" else {}


def _layer(d: Draw) -> Call:
    dtype = d.choice(FLOATS)
    x = make(d, tuple(max(n, 1) for n in d.shape(3, 4)), dtype)
    n = len(x.shape) - 2
    name = d.choice(
        (
            "softmax",
            "log_softmax",
            "layer_norm",
            "gelu",
            "silu",
            "elu",
            "hardtanh",
            "softplus",
            "leaky_relu",
            "pad",
            "max_pool",
            "avg_pool",
            "interpolate",
            "normalize",
            "glu",
            "mse_loss",
            "l1_loss",
            "smooth_l1_loss",
            "one_hot",
            "hardswish",
            "mish",
            "logsigmoid",
            "conv",
        )
    )
    if name in ("max_pool", "avg_pool"):
        return f"F.{name}{n}d", [x, d.randint(1, 3)], {"stride": d.randint(1, 2), "padding": d.randint(0, 1)}
    if name == "conv":
        out, k = d.randint(1, 3), d.randint(1, 2)
        w = make(d, (out, x.shape[1], *[k] * n), dtype)
        return f"F.conv{n}d", [x, w], {"stride": d.randint(1, 2), "padding": d.randint(0, 2)}
    args: dict[str, list[Any]] = {
        "softmax": [d.randrange(-1, 3)],
        "log_softmax": [d.randrange(-1, 3)],
        "layer_norm": [x.shape[-2:]],
        "pad": [[d.randint(-1, 2) for _ in range(4)]],
        "glu": [d.randrange(3)],
        "mse_loss": [make(d, x.shape, dtype)],
        "l1_loss": [make(d, x.shape, dtype)],
        "smooth_l1_loss": [make(d, x.shape, dtype)],
    }
    if name == "interpolate":
        return "F.interpolate", [x], {"scale_factor": 2, "mode": "nearest"}
    if name == "one_hot":
        x = make(d, d.shape(), "int64").view(lambda t: t.abs())
    return f"F.{name}", [x, *args.get(name, [])], {}


DRAWN = (
    (_unary, 3),
    (_binary, 5),
    (_ternary, 2),
    (_reduce, 4),
    (_shape, 3),
    (_index, 4),
    (_product, 2),
    (_layer, 2),
)


def side(value: Any, mine: bool) -> Any:
    """An argument as one side takes it."""
    if isinstance(value, Pair):
        return value.mine if mine else value.theirs
    if isinstance(value, (list, tuple)):
        return type(value)(side(v, mine) for v in value)
    return value


def run(package: Any, name: str, args: list[Any], options: dict[str, Any]) -> Any:
    """(result, None) or (None, the exception)."""
    try:
        if name == "getitem":
            return args[0][args[1]], None
        if name.startswith("F."):
            return getattr(package.nn.functional, name[2:])(*args, **options), None
        if name in ("linear",):
            return package.nn.functional.linear(*args), None
        owner = package if hasattr(package, name) and name != "expand" else type(args[0])
        return getattr(owner, name)(*args, **options), None
    except Exception as error:  # every kind is compared
        return None, error


def plain(t: Any) -> np.ndarray[Any, Any]:
    """Values as NumPy's, two-byte floats widened."""
    t = t.detach()
    return t.float().numpy() if str(t.dtype) == "torch.bfloat16" else t.numpy()


def differ(mine: Any, theirs: Any, slack: Any = 0.0) -> str:
    """How two results differ by more than `slack` and the dtype's; an empty text if they agree."""
    if isinstance(theirs, (tuple, list)):
        if not isinstance(mine, (tuple, list)) or len(mine) != len(theirs):
            return "structure"
        return next((text for a, b in zip(mine, theirs, strict=True) if (text := differ(a, b, slack))), "")
    if not isinstance(theirs, torch.Tensor):
        return "" if str(mine) == str(theirs) else f"{mine!r} != {theirs!r}"
    if not isinstance(mine, rushlight.Tensor):
        return f"type {type(mine).__name__}"
    if str(mine.dtype) != str(theirs.dtype):
        return f"dtype {mine.dtype}, not {theirs.dtype}"
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape {tuple(mine.shape)}, not {tuple(theirs.shape)}"
    a, b = plain(mine), plain(theirs)
    good = close(a, b, *SLACK.get(str(theirs.dtype)[6:], (0, 0)), slack)
    return "" if np.all(good) else f"values {a[~good][:2]}, not {b[~good][:2]}"


def close(a: Any, b: Any, rtol: float, atol: float, slack: Any) -> Any:
    """Where a is b within these; complex numbers by their parts, relative to the larger part."""
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c":
            slack = slack + rtol * np.where(np.isfinite(b), np.abs(b), 0)
            return close(a.real, b.real, rtol, atol, slack) & close(a.imag, b.imag, rtol, atol, slack)
        same = (a == b) | ((a != a) & (b != b))
        return same if a.dtype == bool else same | (np.abs(a - b) <= atol + rtol * np.abs(b) + slack)


# Ops whose results are sums or products of many terms, and what counts these where it is another op.
ACCUMULATED = {
    "sum": "sum",
    "nansum": "sum",
    "mean": "sum",
    "nanmean": "sum",
    "prod": "sum",
    "cumsum": "cumsum",
    "cumprod": "cumsum",
    **{
        name: name
        for name in (
            "matmul mm bmm addmm mv dot addmv baddbmm tensordot linear einsum scatter_add index_add F.conv1d "
            "F.conv2d F.conv3d F.avg_pool1d F.avg_pool2d"
        ).split()
    },
}


def rounding(name: str, args: list[Any], options: dict[str, Any], theirs: Any) -> Any:
    """What rounding after each of n terms may change: eps * n * the result of the operands' absolute values.

    n is what the op gives for ones.
    """

    def of(f: Callable[[Any], Any], op: str) -> Any:
        def changed(value: Any) -> Any:
            if isinstance(value, Pair):
                t = value.theirs
                return f(t).double() if t.dtype.is_floating_point or t.dtype.is_complex else t
            return type(value)(map(changed, value)) if isinstance(value, (list, tuple)) else value

        return run(torch, op, changed(args), options)[0]

    if name not in ACCUMULATED or not theirs.dtype.is_floating_point:
        return 0.0
    n, total = of(torch.ones_like, ACCUMULATED[name]), of(torch.abs, name)
    return np.nan_to_num((torch.finfo(theirs.dtype).eps * n * total).numpy())


def laid_out_otherwise(mine: Any, theirs: Any) -> bool:
    """Whether a result has other strides; those of dims of one element mean nothing."""
    if not isinstance(theirs, torch.Tensor) or not theirs.numel():
        return False
    return any(a != b for a, b, n in zip(mine.stride(), theirs.stride(), theirs.shape, strict=True) if n > 1)


def pairs(value: Any) -> Iterator[Pair]:
    """All operands."""
    if isinstance(value, Pair):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from pairs(v)


def check(seed: int) -> tuple[str, str, str]:
    """(op, difference or "", the call as text) of one seed."""
    d = Draw(seed)
    name, args, options = d.choices([f for f, _ in DRAWN], [w for _, w in DRAWN])[0](d)
    text = f"{name}({', '.join(_shown(a) for a in args)}, {options})"
    theirs, their_error = run(torch, name, side(args, False), options)
    mine, my_error = run(rushlight, name, side(args, True), options)
    if (my_error is None) != (their_error is None):
        return name, f"raises {my_error!r:.150}, not {their_error!r:.150}", text
    if their_error is not None:
        same = type(my_error).__name__ == type(their_error).__name__
        return name, "" if same else f"raises {my_error!r:.150}, not {their_error!r:.150}", text
    found = differ(mine, theirs)
    if found.startswith("values"):
        found = differ(mine, theirs, rounding(name, args, options, theirs))
    if not found and laid_out_otherwise(mine, theirs):
        return name, "strides", text
    for p in pairs(args) if not found else ():
        if text_ := differ(*p.memory):
            return name, f"operand after the call: {text_}", text
    return name, found, text


# Differences that stay: (ops, found, the call) as patterns, and why. What is no line here is a mistake.
KNOWN = [
    (re.compile(ops), re.compile(found), re.compile(call), why)
    for ops, found, call, why in (
        (
            "topk|kthvalue|median|nanmedian|mode",
            "values",
            "",
            "which of equal elements is named depends on the algorithm",
        ),
        (".*", ".*(ComplexHalf|complex32)", "", "NumPy has no complex numbers of two halves"),
        (
            "kron",
            ".*view size is not compatible",
            "",
            "PyTorch cannot view its own product of turned matrices",
        ),
        ("kron", "strides", "", "a view inside, which goes by strides of dims of one element"),
        (
            "(add|sub|rsub)_?",
            r"values.*(inf|nan).*, not .*nanj",
            "",
            "a complex number that is infinite has a nan when alpha, which is 1, multiplies it",
        ),
        (
            "(pow|float_power|ldexp|logaddexp|mul|div|true_divide|addcmul|addcdiv|sgn)_?",
            r"values .*(inf|nan)",
            r"complex|j\)",
            "complex numbers with an infinite part or nan: either's libraries",
        ),
        ("pow_?", ".*c10::Half", "", "PyTorch refuses an exponent that is no half's number"),
        (
            "(remainder|fmod)_?",
            r"values .*, not \[nan",
            "",
            "PyTorch's vectors have nan where a quotient is beyond the range",
        ),
        (
            "div_?|floor_divide_?",
            "values",
            r"float16\[.*('trunc'|'floor')",
            "quotients of halves, rounded before they are cut",
        ),
        ("gcd_?|lcm_?", "values", "", "the least integer has no absolute value"),
        (
            "F.layer_norm",
            "values",
            r"\b0(, \d+)?\], \[",
            "of equal numbers: a mean's last bit, divided by the root of eps",
        ),
        (
            "(pow|ldexp)_?|div_",
            "raises NotImplementedError.*, not RuntimeError",
            "",
            "of two mistakes PyTorch tells the other",
        ),
        (
            "nan_to_num_",
            "raises RuntimeError.*, not None",
            "int|bool",
            "PyTorch writes integers into themselves",
        ),
        ("rsub", "strides", "", "its operands come in their own order, not in sub's"),
        ("ldexp_?", "values", "float32", "a power in single precision, in a product in double"),
        ("ldexp", "strides", "", "a number to the power of a tensor is contiguous in PyTorch"),
        (
            "F.conv1d",
            "strides",
            r"/\[\d+, 1, 1\], |, 1\]/",
            "strides of dims of one element mean nothing; PyTorch goes by them",
        ),
        ("einsum", "strides", "", "its product of one inner place is a matrix product in PyTorch"),
        ("getitem", "strides", "", "indices of one dim that nothing orders: either's choice"),
        (
            "where|addcmul|addcdiv|eq|ne|lt|le|gt|ge",
            "strides",
            r"\b1\b",
            "contiguous operands with strides of dims of one element",
        ),
        (
            r"[\w.]+",
            "strides",
            r"^[\w.]+\(\w+\[[\d, ]+\]/\[(\d+, )*0\b[\d, ]*\], \{\}\)$",
            "one operand, expanded and then turned: its order would have to be looked for in every call",
        ),
    )
]


def explained(name: str, found: str, text: str) -> str:
    """Why a difference stays; an empty text for a mistake."""
    return next(
        (
            why
            for ops, how, call, why in KNOWN
            if ops.fullmatch(name) and how.match(found) and call.search(text)
        ),
        "",
    )


def _shown(a: Any) -> str:
    if isinstance(a, Pair):
        return f"{str(a.theirs.dtype)[6:]}{list(a.shape)}/{list(a.theirs.stride())}"
    return f"[{', '.join(map(_shown, a))}]" if isinstance(a, (list, tuple)) else repr(a)


def main() -> int:
    """Draw, compare, report; exit status 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=2, help="examples of each kind of difference")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    started, seen, stay = time.time(), collections.Counter[tuple[str, str]](), collections.Counter[str]()
    for seed in range(options.seed, options.seed + options.calls):
        name, found, text = check(seed)
        if found and (why := explained(name, found, text)):
            stay[why] += 1
        elif found:
            key = (name, " ".join(found.split()[:2]) if not found.startswith("values") else "values")
            seen[key] += 1
            if seen[key] <= options.show:
                print(f"seed {seed}: {text}: {found}", flush=True)
    print(
        f"{options.calls} calls in {time.time() - started:.0f} s, {sum(seen.values())} differ in {len(seen)} ways; "
        f"{sum(stay.values())} for a reason that is known:"
    )
    print(*[f"{n:6}  {why}" for why, n in stay.most_common()], sep="\n")
    return 1 if seen else 0


if __name__ == "__main__":
    raise SystemExit(main())
