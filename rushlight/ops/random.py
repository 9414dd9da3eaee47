"""Random tensors: factories (rand, randn, randint, randperm and their _like forms) and fills.

The numbers are PyTorch's for the same seed, strides and dtype included: a fill goes through memory
in its own order, as PyTorch's iterators do, and normals of contiguous memory come in groups of 16.
A fill (uniform_, normal_, ...) makes an array in the tensor's memory order and copies it in, so that
copy_ does what every write must: check, count the version, tell autograd.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base import distributions, integers
from rushlight.base import dtype as dt
from rushlight.base.rng import Engine, default_engine
from rushlight.ops.copying import arranged, strides_of
from rushlight.ops.creation import factory, sizes_of
from rushlight.ops.table import ROWS, composite, opaque

Array = np.ndarray[Any, Any]


def engine_of(op: str, generator: Any) -> Engine:
    """The engine of a torch.Generator, or the default one; TypeError for anything else."""
    if generator is None:
        return default_engine()
    engine = getattr(generator, "engine", None)
    if not isinstance(engine, Engine):
        raise TypeError(f"{op}(): argument 'generator' must be torch.Generator, not "
                        f"{type(generator).__name__}")
    return engine


# --- fills ----------------------------------------------------------------------------------------


def _memory_order(a: Array) -> list[int]:
    """The dims from the one with the longest steps to the one with the shortest."""
    return sorted(range(a.ndim), key=lambda i: (-abs(a.strides[i]), i))


def in_memory_order(flat: Array, a: Array) -> Array:
    """`flat`'s elements in a's shape, the first ones where a's memory begins."""
    if a.flags.c_contiguous:
        return flat.reshape(a.shape)
    order = _memory_order(a)
    made = flat.reshape([a.shape[i] for i in order])
    return made.transpose(sorted(range(a.ndim), key=order.__getitem__))


def _filler(name: str, draw: Callable[..., Array]) -> Any:
    """A row that gives an array to fill `input` with; `draw` gets (engine, input, parameters)."""
    def body(input, parameters: "Any", generator: "Any" = None) -> Array:
        return draw(engine_of(name, generator), input, parameters)
    row = opaque(body, name=f"_{name}fill", where=("aten",), doc=f"The elements that {name} writes.")
    row.shape_rule(lambda input, parameters, generator=None: input)
    return row


def _of(a: Array) -> dt.dtype:
    return dt.from_numpy_dtype(a.dtype)


def _drawn(distribution: Callable[..., Array]) -> Callable[..., Array]:
    """A draw of real numbers in memory order, by a function (engine, n, dtype, *parameters)."""
    return lambda engine, a, parameters: in_memory_order(
        distribution(engine, a.size, _of(a), *parameters), a)


def uniform_array(engine: Engine, a: Array, parameters: tuple[float, float]) -> Array:
    """Uniforms for a's elements; for the parts of complex ones."""
    of, size = _of(a), a.size
    if not of.is_complex:
        return in_memory_order(distributions.uniform(engine, size, of, *parameters), a)
    parts = distributions.uniform(engine, 2 * size, of.to_real(), *parameters)
    return in_memory_order(parts.view(a.dtype), a)


def normal_array(engine: Engine, a: Array, parameters: tuple[float, float]) -> Array:
    """Normals for a's elements; a complex one's parts have half the variance each."""
    of, size, (mean, std) = _of(a), a.size, parameters
    whole = a.flags.c_contiguous
    if not of.is_complex:
        made = distributions.normal(engine, size, of, mean, std, contiguous=whole)
    else:
        made = distributions.normal(engine, 2 * size, of.to_real(), mean, std / math.sqrt(2),
                                    contiguous=whole).view(a.dtype)
    return in_memory_order(made, a)


def _random_array(engine: Engine, a: Array, parameters: tuple[Any, ...]) -> Array:
    make = integers.integers if parameters else integers.whole_range
    return in_memory_order(make(engine, a.size, _of(a), *parameters), a)


_uniform = _filler("uniform_", uniform_array)
_normal = _filler("normal_", normal_array)
_random = _filler("random_", _random_array)
_exponential = _filler("exponential_", _drawn(distributions.exponential))
_geometric = _filler("geometric_", _drawn(distributions.geometric))
_log_normal = _filler("log_normal_", _drawn(distributions.log_normal))
_cauchy = _filler("cauchy_", _drawn(distributions.cauchy))
_bernoulli = _filler("bernoulli_", _drawn(distributions.bernoulli))


def _fill(name: str) -> Callable[[Any], Any]:
    return lambda body: composite(body, name=name, where=("Tensor",))


@_fill("uniform_")
def uniform_(input, from_: "float" = 0.0, to: "float" = 1.0, *, generator: "Any" = None):
    """Write uniforms of [from, to)."""
    return input.copy_(_uniform(input, (from_, to), generator))


@_fill("normal_")
def normal_(input, mean: "float" = 0.0, std: "float" = 1.0, *, generator: "Any" = None):
    """Write normals."""
    return input.copy_(_normal(input, (mean, std), generator))


@_fill("exponential_")
def exponential_(input, lambd: "float" = 1.0, *, generator: "Any" = None):
    """Write exponential numbers of rate lambd."""
    return input.copy_(_exponential(input, (lambd,), generator))


@_fill("geometric_")
def geometric_(input, p: "float", *, generator: "Any" = None):
    """Write numbers of trials up to the first success."""
    return input.copy_(_geometric(input, (p,), generator))


@_fill("log_normal_")
def log_normal_(input, mean: "float" = 1.0, std: "float" = 2.0, *, generator: "Any" = None):
    """Write exp of normals with this mean and std."""
    return input.copy_(_log_normal(input, (mean, std), generator))


@_fill("cauchy_")
def cauchy_(input, median: "float" = 0.0, sigma: "float" = 1.0, *, generator: "Any" = None):
    """Write Cauchy numbers."""
    return input.copy_(_cauchy(input, (median, sigma), generator))


_LEFT_OUT: Any = type("LeftOut", (), {"__repr__": lambda self: "..."})()


@_fill("random_")
def random_(input, from_: "Any" = None, to: "Any" = _LEFT_OUT, *, generator: "Any" = None):
    """Write integers: of [from, to), of [0, to) for random_(to), or up to the dtype's largest."""
    if from_ is None and to is _LEFT_OUT:
        return input.copy_(_random(input, (), generator))
    if to is _LEFT_OUT:
        from_, to = None, from_
    bounds = (_whole("random_", "from", 0 if from_ is None else from_),
              None if to is None else _whole("random_", "to", to))
    return input.copy_(_random(input, bounds, generator))


def _whole(op: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{op}(): argument '{name}' must be int, not {type(value).__name__}")
    return operator.index(value)


# --- factories ------------------------------------------------------------------------------------


def _made(draw: Callable[..., Array], size: Any, dtype: dt.dtype | None, op: str, generator: Any,
          parameters: tuple[Any, ...], on: Any) -> Array:
    out = np.empty(sizes_of(size), (dt.get_default_dtype() if dtype is None else dtype).np)
    return out if _no_data(on) else draw(engine_of(op, generator), out, parameters)


def _no_data(on: Any) -> bool:
    return on is not None and on.type == "meta"


@factory
def rand(size: "*Ints", *, generator: "Any" = None, dtype: "dtype | None" = None,
         layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
         requires_grad: "bool" = False) -> Array:
    """Uniforms of [0, 1)."""
    return _made(uniform_array, size, dtype, "rand", generator, (0.0, 1.0), device)


@factory
def randn(size: "*Ints", *, generator: "Any" = None, dtype: "dtype | None" = None,
          layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
          requires_grad: "bool" = False) -> Array:
    """Normals of mean 0 and variance 1."""
    return _made(normal_array, size, dtype, "randn", generator, (0.0, 1.0), device)


@factory
def randint(low: "Any" = None, high: "Any" = None, size: "Any" = None, *, generator: "Any" = None,
            dtype: "dtype | None" = None, layout: "Any" = None, device: "device | None" = None,
            pin_memory: "bool" = False, requires_grad: "bool" = False) -> Array:
    """Integers of [low, high), or of [0, high) for randint(high, size)."""
    if size is None:
        low, high, size = None, low if low is not None else high, high if low is not None else None
    if size is None or high is None or isinstance(size, int):
        missing = "high" if high is None else "size"
        raise TypeError(f"randint(): argument '{missing}' must be given, as in randint(high, size) or "
                        f"randint(low, high, size); size must be tuple of ints, not "
                        f"{type(size).__name__}")
    bounds = (_whole("randint", "low", 0 if low is None else low), _whole("randint", "high", high))
    sizes = tuple(_whole("randint", "size", n) for n in size)
    return _made(_random_array, sizes, dt.int64 if dtype is None else dtype, "randint", generator,
                 bounds, device)


@factory
def randperm(n: "int", *, generator: "Any" = None, dtype: "dtype | None" = None,
             layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
             requires_grad: "bool" = False) -> Array:
    """0 .. n - 1 in random order."""
    sizes_of(n)
    of = dt.int64 if dtype is None else dtype
    if _no_data(device):
        return np.empty(n, of.np)
    return integers.permutation(engine_of("randperm", generator), n, of)


def _like(draw: Callable[..., Array], input: Array, dtype: dt.dtype | None, memory_format: Any,
          op: str, generator: Any, parameters: tuple[Any, ...], on: Any) -> Array:
    like = arranged(input.shape, strides_of(input), input.dtype if dtype is None else dtype.np,
                    memory_format)
    return like if _no_data(on) else draw(engine_of(op, generator), like, parameters)


@factory(out=False)
def rand_like(input, *, generator: "Any" = None, dtype: "dtype | None" = None,
              layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
              requires_grad: "bool" = False, memory_format: "Any" = None) -> Array:
    """Uniforms of [0, 1) in input's shape, dtype and strides."""
    return _like(uniform_array, input, dtype, memory_format, "rand_like", generator, (0.0, 1.0),
                 device)


@factory(out=False)
def randn_like(input, *, generator: "Any" = None, dtype: "dtype | None" = None,
               layout: "Any" = None, device: "device | None" = None, pin_memory: "bool" = False,
               requires_grad: "bool" = False, memory_format: "Any" = None) -> Array:
    """Normals in input's shape, dtype and strides."""
    return _like(normal_array, input, dtype, memory_format, "randn_like", generator, (0.0, 1.0),
                 device)


@factory(out=False)
def randint_like(input, low: "Any" = None, high: "Any" = None, *, generator: "Any" = None,
                 dtype: "dtype | None" = None, layout: "Any" = None,
                 device: "device | None" = None, pin_memory: "bool" = False,
                 requires_grad: "bool" = False, memory_format: "Any" = None) -> Array:
    """Integers of [low, high), or of [0, high) for one bound, in input's shape, dtype, strides."""
    if high is None:
        low, high = 0, low
    bounds = (_whole("randint_like", "low", 0 if low is None else low),
              _whole("randint_like", "high", high))
    return _like(_random_array, input, dtype, memory_format, "randint_like", generator, bounds, device)
