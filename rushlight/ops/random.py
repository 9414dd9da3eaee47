"""Random tensors: factories (rand, randn, randint, randperm and their _like forms) and fills.

The numbers are PyTorch's for the same seed, strides and dtype included: a fill goes through memory
in its own order, as PyTorch's iterators do, and normals of contiguous memory come in groups of 16.
A fill (uniform_, normal_, ...) is the in-place form of a row that has no other public form.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from rushlight.base import distributions, integers
from rushlight.base import dtype as dt
from rushlight.base.boxmuller import GROUP, normal32
from rushlight.base.distributions import in_memory_order
from rushlight.base.rng import Engine, Few, default_engine
from rushlight.ops.creation import Fill, factory, like, np_dtype, sizes_of
from rushlight.ops.table import Array, opaque


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


def _of(a: Array) -> dt.dtype:
    return dt.from_numpy_dtype(a.dtype)


def _drawn(distribution: Callable[..., Array], engine: Engine, a: Array, *parameters: float) -> Array:
    return in_memory_order(distribution(engine, a.size, _of(a), *parameters), a)


def uniform_array(engine: Engine, a: Array, parameters: tuple[float, float]) -> Array:
    """Uniforms for a's elements; for the parts of complex ones."""
    of = _of(a)
    parts = distributions.uniform(engine, a.size * (1 + of.is_complex), of.to_real(), *parameters)
    return in_memory_order(parts.view(a.dtype), a)


def normal_array(engine: Engine, a: Array, parameters: tuple[float, float]) -> Array:
    """Normals for a's elements; a complex one's parts have half the variance each."""
    of, (mean, std) = _of(a), parameters
    std = std / math.sqrt(2) if of.is_complex else std
    parts = distributions.normal(engine, a.size * (1 + of.is_complex), of.to_real(), mean, std,
                                 contiguous=a.flags.c_contiguous)
    return in_memory_order(parts.view(a.dtype), a)


def _random_array(engine: Engine, a: Array, parameters: tuple[Any, ...]) -> Array:
    make = integers.integers if parameters else integers.whole_range
    return in_memory_order(make(engine, a.size, _of(a), *parameters), a)


def fill(name: str, few: Few | None = None) -> Callable[[Callable[..., Array]], Any]:
    """An opaque row for Tensor.NAME, which writes what the body draws and gives no gradient."""
    def decorate(body: Callable[..., Array]) -> Any:
        row = opaque(body, where=(f"Tensor.{name}",), inplace=True, node=name.rstrip("_"), fill=True, few=few)
        row.shape_rule(lambda input, *rest: input)
        row.gradient(no_gradient)
        return row
    return decorate


def no_gradient(s: Any, grad: Any) -> Any:
    """Random numbers do not depend smoothly on what they replace, or are drawn by: zeros."""
    return grad.new_zeros(s.shape("input"))


NORMALS = Few(normal32, 1, GROUP)


@fill("uniform_", distributions.UNITS)
def uniform(input, from_: "float" = 0.0, to: "float" = 1.0, *, generator: "Any" = None) -> Array:
    """Uniforms of [from, to)."""
    return uniform_array(engine_of("uniform_", generator), input, (from_, to))


@fill("normal_", NORMALS)
def normal_fill(input, mean: "float" = 0.0, std: "float" = 1.0, *, generator: "Any" = None) -> Array:
    """Normals."""
    return normal_array(engine_of("normal_", generator), input, (mean, std))


@fill("exponential_", Few(distributions.exponentials32, 2, 2, (1,)))
def exponential(input, lambd: "float" = 1.0, *, generator: "Any" = None) -> Array:
    """Exponential numbers of rate lambd."""
    return _drawn(distributions.exponential, engine_of("exponential_", generator), input, lambd)


@fill("geometric_")
def geometric(input, p: "float", *, generator: "Any" = None) -> Array:
    """Numbers of trials up to the first success."""
    return _drawn(distributions.geometric, engine_of("geometric_", generator), input, p)


@fill("log_normal_")
def log_normal(input, mean: "float" = 1.0, std: "float" = 2.0, *, generator: "Any" = None) -> Array:
    """exp of normals with this mean and std."""
    return _drawn(distributions.log_normal, engine_of("log_normal_", generator), input, mean, std)


@fill("cauchy_")
def cauchy(input, median: "float" = 0.0, sigma: "float" = 1.0, *, generator: "Any" = None) -> Array:
    """Cauchy numbers."""
    return _drawn(distributions.cauchy, engine_of("cauchy_", generator), input, median, sigma)


_LEFT_OUT: Any = type("LeftOut", (), {"__repr__": lambda self: "..."})()


@fill("random_")
def random(input, from_: "Any" = None, to: "Any" = _LEFT_OUT, *, generator: "Any" = None) -> Array:
    """Integers: of [from, to), of [0, to) for random_(to), else up to the dtype's largest."""
    engine = engine_of("random_", generator)
    if from_ is None and to is _LEFT_OUT:
        return _random_array(engine, input, ())
    if to is _LEFT_OUT:
        from_, to = None, from_
    low = 0 if from_ is None else _whole("random_", "from", from_)
    return _random_array(engine, input, (low, None if to is None else _whole("random_", "to", to)))


def _whole(op: str, name: str, value: Any) -> int:
    if value.__class__ is int:
        return value  # type: ignore[no-any-return]
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{op}(): argument '{name}' must be int, not {type(value).__name__}")
    return operator.index(value)


# --- factories ------------------------------------------------------------------------------------


def filled(memory: Fill, draw: Callable[..., Array], op: str, generator: Any,
           parameters: tuple[Any, ...], on: Any, few: Few | None = None) -> Any:
    """What draws numbers for `memory`; just the memory on the meta device, where none are drawn."""
    if _no_data(on):
        return memory
    plain = few if few and few.of == memory.np and memory.strides is None else None

    def drawn() -> Array:
        engine = default_engine() if generator is None else engine_of(op, generator)
        made = engine.cut(plain, memory.sizes) if plain else None
        return draw(engine, memory.array(), parameters) if made is None else made.copy()
    return drawn


def _no_data(on: Any) -> bool:
    return on is not None and on.type == "meta"


@factory
def randint(low: "Any" = None, high: "Any" = None, size: "Any" = None, *, generator: "Any" = None,
            dtype: "dtype | None" = None, device: "device | None" = None) -> Any:
    """Integers of [low, high), or of [0, high) for randint(high, size)."""
    if size is None:
        low, high, size = None, low if low is not None else high, high if low is not None else None
    if size is None or high is None or isinstance(size, int):
        missing = "high" if high is None else "size"
        raise TypeError(f"randint(): argument '{missing}' must be given, as in randint(high, size) or "
                        f"randint(low, high, size); size must be tuple of ints, not "
                        f"{type(size).__name__}")
    bounds = (_whole("randint", "low", 0 if low is None else low), _whole("randint", "high", high))
    sizes, of = tuple([_whole("randint", "size", n) for n in size]), dt.int64 if dtype is None else dtype
    *_, few = (None,) if of in integers.DIGITS or _no_data(device) else integers.ranged(of, *bounds)
    return filled(Fill(sizes_of(sizes), of.np), _random_array, "randint", generator, bounds, device, few)


@factory
def randperm(n: "int", *, generator: "Any" = None, dtype: "dtype | None" = None,
             device: "device | None" = None) -> Any:
    """0 .. n - 1 in random order."""
    sizes_of(n)
    of = dt.int64 if dtype is None else dtype
    if _no_data(device):
        return Fill((n,), of.np)
    return integers.permutation(engine_of("randperm", generator), n, of)


def _standard(name: str, draw: Callable[..., Array], few: Few, doc: str) -> None:
    """The rows NAME and NAME_like."""
    def sized(size: "*Ints", *, generator: "Any" = None, dtype: "dtype | None" = None,
              device: "device | None" = None) -> Any:
        return filled(Fill(sizes_of(size), np_dtype(dtype)), draw, name, generator, (0.0, 1.0), device, few)

    def alike(input, *, generator: "Any" = None, dtype: "dtype | None" = None,
             device: "device | None" = None, memory_format: "Any" = None) -> Any:
        memory = like(input, None, dtype, memory_format)
        return filled(memory, draw, f"{name}_like", generator, (0.0, 1.0), device, few)
    factory(sized, name=name, doc=f"{doc}.")
    factory(alike, name=f"{name}_like", doc=f"{doc} in input's shape, dtype and strides.", out=False)


_standard("rand", uniform_array, distributions.UNITS, "Uniforms of [0, 1)")
_standard("randn", normal_array, NORMALS, "Normals of mean 0 and variance 1")


@factory(out=False)
def randint_like(input, low: "Any" = None, high: "Any" = None, *, generator: "Any" = None,
                 dtype: "dtype | None" = None, device: "device | None" = None,
                 memory_format: "Any" = None) -> Any:
    """Integers of [low, high), or of [0, high) for one bound, in input's shape, dtype, strides."""
    if high is None:
        low, high = 0, low
    bounds = (_whole("randint_like", "low", 0 if low is None else low), _whole("randint_like", "high", high))
    memory = like(input, None, dtype, memory_format)
    return filled(memory, _random_array, "randint_like", generator, bounds, device)
