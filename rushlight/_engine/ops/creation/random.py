"""Random tensors: factories (rand, randn, randint, randperm and their _like forms), fills and samples.

The numbers are PyTorch's for the same seed, strides and dtype included: a fill goes through memory
in its own order, as PyTorch's iterators do, and normals of contiguous memory come in groups of 16.
A fill (uniform_, normal_, ...) is the in-place form of a row that has no other public form.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.errors import missing
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.numerics import (
    distributions,
    multinomial as categories,
    random_integers,
    rejection_samplers as samplers,
)
from rushlight._engine.numerics.box_muller import normal32
from rushlight._engine.numerics.distributions import in_memory_order
from rushlight._engine.numerics.rng import Engine, WordTransform, default_engine
from rushlight._engine.ops.creation.filled import Fill, factory, like, np_dtype, sizes_of
from rushlight._engine.ops.reductions.scanning import running_sums
from rushlight._engine.ops.resolved import ArrayFunction, resolved
from rushlight._engine.ops.table import Array, composite, opaque


def engine_of(op: str, generator: Any) -> Engine:
    """The engine of a torch.Generator, or the default one; TypeError for anything else."""
    if generator is None:
        return default_engine()
    engine = getattr(generator, "engine", None)
    if not isinstance(engine, Engine):
        raise TypeError(
            f"{op}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}"
        )
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
    parts = distributions.normal(
        engine, a.size * (1 + of.is_complex), of.to_real(), mean, std, contiguous=a.flags.c_contiguous
    )
    return in_memory_order(parts.view(a.dtype), a)


def _random_array(engine: Engine, a: Array, parameters: tuple[Any, ...]) -> Array:
    make = random_integers.integers if parameters else random_integers.whole_range
    return in_memory_order(make(engine, a.size, _of(a), *parameters), a)


def fill(name: str, few: Callable[..., WordTransform | None]) -> Callable[[Callable[..., Array]], Any]:
    """An opaque row for Tensor.NAME, which writes what the body draws and gives no gradient.

    few(dtype, *arguments): how the body makes numbers of words, where each takes as many.
    """

    def decorate(body: Callable[..., Array]) -> Any:
        row = opaque(body, where=(f"Tensor.{name}",), inplace=True, node=name.rstrip("_"), fill=True, few=few)
        row.shape_rule(lambda input, *rest: input)
        row.gradient(no_gradient)
        return row

    return decorate


def no_gradient(s: Any, grad: Any) -> Any:
    """Random numbers do not depend smoothly on what they replace, or are drawn by: zeros."""
    return grad.new_zeros(s.shape("input"))


NORMALS = replace(distributions.normals(dt.float32), make=normal32)


# How few numbers are made, for `fill`. None of complex ones, whose parts are drawn.


def _few(distribution: Callable[..., Array], words: int = 2) -> Callable[..., WordTransform]:
    def few(of: dt.dtype, *parameters: Any) -> WordTransform:
        return distributions.in_bulk(distribution, of, parameters, words)

    return few


def _few_uniforms(of: dt.dtype, low: float = 0.0, high: float = 1.0) -> WordTransform | None:
    if of.is_complex:
        return None
    if of is dt.float32 and (low, high) == (0, 1):
        return distributions.UNITS
    return distributions.in_bulk(distributions.uniform, of, (low, high), 2 if of is dt.float64 else 1)


def _few_normals(of: dt.dtype, mean: float = 0.0, std: float = 1.0) -> WordTransform | None:
    if of.is_complex:
        return None
    return NORMALS if of is dt.float32 and (mean, std) == (0, 1) else distributions.normals(of, mean, std)


@fill("uniform_", _few_uniforms)
def uniform(input, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Array:
    """Uniforms of [from, to)."""
    return uniform_array(engine_of("uniform_", generator), input, (from_, to))


@fill("normal_", _few_normals)
def normal_fill(input, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Array:
    """Normals."""
    return normal_array(engine_of("normal_", generator), input, (mean, std))


@fill("exponential_", _few(distributions.exponential))
def exponential(input, lambd: float = 1.0, *, generator: Any = None) -> Array:
    """Exponential numbers of rate lambd."""
    return _drawn(distributions.exponential, engine_of("exponential_", generator), input, lambd)


@fill("geometric_", _few(distributions.geometric))
def geometric(input, p: float, *, generator: Any = None) -> Array:
    """Numbers of trials up to the first success."""
    return _drawn(distributions.geometric, engine_of("geometric_", generator), input, p)


def _few_log_normals(of: dt.dtype, *parameters: float) -> WordTransform:
    return replace(distributions.in_bulk(distributions.log_normal, of, parameters, 2, 4), pairs=True)


@fill("log_normal_", _few_log_normals)
def log_normal(input, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Array:
    """exp of normals with this mean and std."""
    return _drawn(distributions.log_normal, engine_of("log_normal_", generator), input, mean, std)


@fill("cauchy_", _few(distributions.cauchy))
def cauchy(input, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Array:
    """Cauchy numbers."""
    return _drawn(distributions.cauchy, engine_of("cauchy_", generator), input, median, sigma)


class _LeftOut:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "..."


_LEFT_OUT: Any = _LeftOut()


def _range(from_: Any = None, to: Any = _LEFT_OUT) -> tuple[Any, ...]:
    """What random_'s arguments say: the lowest integer and the end, or None; of no arguments, nothing."""
    if from_ is None and to is _LEFT_OUT:
        return ()
    if to is _LEFT_OUT:
        from_, to = None, from_
    low = 0 if from_ is None else _whole("random_", "from", from_)
    return low, None if to is None else _whole("random_", "to", to)


def _few_integers(of: dt.dtype, *arguments: Any) -> WordTransform | None:
    bounds = _range(*arguments)
    if not bounds:
        words = 2 if of in (dt.int64, dt.float64) else 1
        return distributions.in_bulk(random_integers.whole_range, of, (), words)
    return None if of in distributions.DIGITS else random_integers.ranged(of, *bounds)[2]


@fill("random_", _few_integers)
def random(input, from_: Any = None, to: Any = _LEFT_OUT, *, generator: Any = None) -> Array:
    """Integers: of [from, to), of [0, to) for random_(to), else up to the dtype's largest."""
    return _random_array(engine_of("random_", generator), input, _range(from_, to))


def _whole(op: str, name: str, value: Any) -> int:
    if value.__class__ is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{op}(): argument '{name}' must be int, not {type(value).__name__}")
    return operator.index(value)


# --- factories ------------------------------------------------------------------------------------


def filled(
    memory: Fill,
    draw: Callable[..., Array],
    op: str,
    generator: Any,
    parameters: tuple[Any, ...],
    on: Any,
    few: WordTransform | None = None,
) -> Any:
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
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: dtype | None = None,
    device: device | None = None,
) -> Any:
    """Integers of [low, high), or of [0, high) for randint(high, size); int64 unless dtype says else."""
    if high is None and size is not None:
        low, high = None, low
    elif size is None:
        low, high, size = None, low if low is not None else high, high if low is not None else None
    if size is None or high is None or isinstance(size, int):
        missing = "high" if high is None else "size"
        raise TypeError(
            f"randint(): argument '{missing}' must be given, as in randint(high, size) or randint(low, high, "
            f"size); size must be tuple of ints, not {type(size).__name__}"
        )
    bounds = (_whole("randint", "low", 0 if low is None else low), _whole("randint", "high", high))
    sizes, of = tuple([_whole("randint", "size", n) for n in size]), dt.int64 if dtype is None else dtype
    *_, few = (
        (None,) if of in distributions.DIGITS or _no_data(device) else random_integers.ranged(of, *bounds)
    )
    return filled(Fill(sizes_of(sizes), of.np), _random_array, "randint", generator, bounds, device, few)


@factory
def randperm(
    n: int, *, generator: Any = None, dtype: dtype | None = None, device: device | None = None
) -> Any:
    """0 .. n - 1 in random order: int64 (n,)."""
    sizes_of(n)
    of = dt.int64 if dtype is None else dtype
    if _no_data(device):
        return Fill((n,), of.np)
    return random_integers.permutation(engine_of("randperm", generator), n, of)


def _standard(name: str, draw: Callable[..., Array], few: WordTransform, doc: str) -> None:
    """The rows NAME and NAME_like."""

    def sized(
        size: "*Ints",
        *,
        generator: Any = None,
        dtype: dtype | None = None,
        device: device | None = None,
    ) -> Any:
        return filled(Fill(sizes_of(size), np_dtype(dtype)), draw, name, generator, (0.0, 1.0), device, few)

    def alike(
        input,
        *,
        generator: Any = None,
        dtype: dtype | None = None,
        device: device | None = None,
        memory_format: Any = None,
    ) -> Any:
        memory = like(input, None, dtype, memory_format)
        return filled(memory, draw, f"{name}_like", generator, (0.0, 1.0), device, few)

    factory(sized, name=name, doc=f"{doc}.")
    factory(alike, name=f"{name}_like", doc=f"{doc} in input's shape, dtype and strides.", out=False)


_standard("rand", uniform_array, distributions.UNITS, "Uniforms of [0, 1)")
_standard("randn", normal_array, NORMALS, "Normals of mean 0 and variance 1")


@factory(out=False)
def randint_like(
    input,
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: dtype | None = None,
    device: device | None = None,
    memory_format: Any = None,
) -> Any:
    """Integers of [low, high), or of [0, high) for one bound, in input's shape, dtype, strides."""
    if high is None:
        low, high = 0, low
    bounds = (_whole("randint_like", "low", 0 if low is None else low), _whole("randint_like", "high", high))
    memory = like(input, None, dtype, memory_format)
    of = dt.from_numpy_dtype(memory.np)
    few = None if _no_data(device) else _few_integers(of, *bounds)
    return filled(memory, _random_array, "randint_like", generator, bounds, device, few)


# --- samples whose distribution is given by tensors ----------------------------------------------


# --- bernoulli ------------------------------------------------------------------------------------


@opaque(out=True, quiet=True)
@resolved
def bernoulli(input, p: float | None = None, *, generator: Any = None) -> ArrayFunction:
    """Ones with the probabilities in input (or all with probability p), else zeros: of the input's shape and
    dtype.
    """
    of = dt.from_numpy_dtype(input.dtype)
    if p is not None:

        def draw_alike(engine: Engine, a: Array) -> Array:
            return distributions.bernoulli(engine, a.size, of, p).reshape(a.shape)

    draw = draw_alike if p is not None else distributions.bernoulli_each(input, of)
    return lambda a: draw(engine_of("bernoulli", generator), a)


bernoulli.gradient(no_gradient)
bernoulli.shape_rule(lambda input, p=None, generator=None: input)


def _few_bernoulli(of: dt.dtype, p: float = 0.5) -> WordTransform:
    return distributions.in_bulk(distributions.bernoulli, of, (float(p),), 2)


@fill("bernoulli_", _few_bernoulli)
def bernoulli_fill(input, p: Tensor | Number = 0.5, *, generator: Any = None) -> Array:
    """Ones with probability p, else zeros; p may be a tensor that broadcasts to input."""
    engine, of = engine_of("bernoulli_", generator), dt.from_numpy_dtype(input.dtype)
    if not isinstance(p, np.ndarray):
        return _drawn(distributions.bernoulli, engine, input, float(p))
    if broadcast_shapes(input.shape, p.shape) != input.shape:
        raise RuntimeError(
            f"expand: p of shape {list(p.shape)} must broadcast to the tensor's shape "
            f"{list(input.shape)}: the number of sizes provided ({input.ndim}) must be "
            f"greater or equal to the number of dimensions in the tensor ({p.ndim})"
        )
    ordered = np.broadcast_to(p, input.shape).transpose(distributions.memory_order(input))
    made = distributions.bernoulli_each(ordered, of)(engine, ordered)
    return in_memory_order(made.reshape(-1), input)


# --- normal ---------------------------------------------------------------------------------------


@opaque(name="_normal_around", where=("aten",), node="normal")
def _normal_around(input: Tensor | Number, std: Tensor | Number, generator: Any = None) -> Array:
    """Normals around means (input), with standard deviations std, one for each element."""
    like = input if isinstance(input, np.ndarray) else std
    _check_std(std)
    shape = broadcast_shapes(np.shape(input), np.shape(std))
    engine = engine_of("normal", generator)
    spread = 1.0 if isinstance(std, np.ndarray) else float(std)
    made = engine.cut(NORMALS, shape) if spread == 1 and like.dtype.char == "f" else None
    if made is None:
        made = normal_array(engine, np.empty(shape, like.dtype), (0.0, spread))
    if isinstance(std, np.ndarray):
        if made.ndim and not std.ndim:  # a single number takes no part in promotion
            std = std.astype(dt.opmath(dt.from_numpy_dtype(made.dtype).to_real()).np)
        made = _rounded(made * std, made)
    return _rounded(made + (input if isinstance(input, np.ndarray) else made.dtype.type(input)), made)


@_normal_around.shape_rule
def _normal_around_shape(input: Any, std: Any, generator: Any = None) -> Any:
    like = input if hasattr(input, "new_empty") else std
    return like.new_empty(broadcast_shapes(*(getattr(x, "shape", ()) for x in (input, std))))


def _rounded(wide: Array, like: Array) -> Array:
    return wide.astype(like.dtype, copy=False)


def _check_std(std: Any) -> None:
    if not isinstance(std, np.ndarray):
        return
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


@_normal_around.gradient
def _normal_around_gradient(s: Any, grad: Any) -> Any:
    return (
        grad.new_zeros(s.shape("input")) if s.needs("input") else None,
        grad.new_zeros(s.shape("std")) if s.needs("std") else None,
    )


@factory(name="_normal_sized", where=("aten",), out=False)
def _normal_sized(
    size: Ints,
    mean: float,
    std: float,
    *,
    generator: Any = None,
    dtype: dtype | None = None,
    device: device | None = None,
) -> Any:
    """Normals of one mean and one standard deviation."""
    memory = Fill(sizes_of(size), np_dtype(dtype))
    return filled(memory, normal_array, "normal", generator, (mean, std), device)


@composite(where=("torch",), out=True)
def normal(
    mean: Tensor | Number,
    std: Tensor | Number = 1.0,
    size: Ints | None = None,
    *,
    generator: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
):
    """Normals: normal(mean, std) with a tensor among them, or normal(mean, std, size)."""
    if size is not None:
        return _normal_sized(
            size,
            float(mean),
            float(std),
            generator=generator,
            dtype=dtype,
            device=device,
            pin_memory=pin_memory,
            requires_grad=requires_grad,
        )
    if not (hasattr(mean, "_kind") or hasattr(std, "_kind")):
        raise TypeError(
            "normal() received an invalid combination of arguments: two numbers need a "
            "size, as in normal(0.0, 1.0, size=(2, 3))"
        )
    return _normal_around(mean, std, generator)


# --- multinomial, poisson -------------------------------------------------------------------------


def _no_rule(op: str) -> Any:
    def rule(s: Any, grad: Any) -> Any:
        missing(
            f"the gradient of {op} by its parameters",
            "use the score function (log_prob of the sample, detached) instead of rsample",
        )

    return rule


@opaque(out=True)
@resolved
def multinomial(
    input, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> ArrayFunction:
    """num_samples indices (int64) for each row of weights in input, (n,) or (m, n), drawn by them.

    RuntimeError for negative or infinite weights, rows that sum to 0, and more samples than weights without
    replacement.
    """
    draw = categories.chooser(input, num_samples, replacement, running_sums)
    return lambda a: draw(engine_of("multinomial", generator), a)


multinomial.shape_rule(lambda input, n, *_: input.new_empty((*input.shape[:-1], n), dtype=dt.int64))


@opaque(where=("torch",), vjp=_no_rule("binomial"))
def binomial(count, prob, generator: Any = None) -> Array:
    """For each count and probability, the number of successes; both of one floating dtype."""
    of = dt.from_numpy_dtype(count.dtype)
    if not of.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {of.legacy}")
    if prob.dtype != count.dtype:
        raise RuntimeError(
            f"Found dtype {dt.from_numpy_dtype(prob.dtype).legacy} but expected "
            f"{of.legacy}: count and prob must have one dtype"
        )
    shape = broadcast_shapes(count.shape, prob.shape)
    counts, probabilities = (np.array(np.broadcast_to(a, shape)) for a in (count, prob))
    return samplers.binomial(engine_of("binomial", generator), counts, probabilities)


def _sampled(name: str, draw: Callable[..., Array], doc: str, rule: Any) -> None:
    def body(input, generator: Any = None) -> Array:
        return draw(engine_of(name, generator), np.asarray(input, order="C"))

    opaque(body, name=name, doc=doc, where=("torch",), vjp=rule)


_sampled(
    "poisson", samplers.poisson, "For each rate in input a Poisson number, in input's dtype.", no_gradient
)
_sampled(
    "_standard_gamma",
    samplers.gamma,
    "For each shape parameter a gamma number of rate 1.",
    _no_rule("_standard_gamma"),
)
_sampled(
    "_sample_dirichlet",
    samplers.dirichlet,
    "Dirichlet numbers along the last dim.",
    _no_rule("_sample_dirichlet"),
)
