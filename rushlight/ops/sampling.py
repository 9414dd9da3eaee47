"""Samples whose distribution is given by tensors: bernoulli, normal, multinomial, poisson."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.base import categories, distributions, samplers, dtype as dt
from rushlight.base.errors import missing
from rushlight.base.layout import broadcast_shapes
from rushlight.base.rng import Engine
from rushlight.ops.creation import Fill, factory, np_dtype, sizes_of
from rushlight.ops.random import NORMALS, engine_of, fill, filled, no_gradient, normal_array
from rushlight.ops.table import Array, composite, opaque
from rushlight.ops.ways import Way, resolved


# --- bernoulli ------------------------------------------------------------------------------------


@opaque(out=True, quiet=True)
@resolved
def bernoulli(input, p: "float | None" = None, *, generator: "Any" = None) -> Way:
    """Ones with the probabilities in input (or all with probability p), else zeros."""
    of = dt.from_numpy_dtype(input.dtype)
    if p is not None:
        def draw(engine: Engine, a: Array) -> Array:
            return distributions.bernoulli(engine, a.size, of, p).reshape(a.shape)
    else:
        draw = distributions.bernoulli_each(input, of)
    return lambda a: draw(engine_of("bernoulli", generator), a)


bernoulli.gradient(no_gradient)
bernoulli.shape_rule(lambda input, p=None, generator=None: input)


@fill("bernoulli_")
def bernoulli_fill(input, p: "Tensor | Number" = 0.5, *, generator: "Any" = None) -> Array:
    """Ones with probability p, else zeros; p may be a tensor that broadcasts to input."""
    engine, of = engine_of("bernoulli_", generator), dt.from_numpy_dtype(input.dtype)
    if not isinstance(p, np.ndarray):
        return distributions.in_memory_order(distributions.bernoulli(engine, input.size, of, float(p)), input)
    if broadcast_shapes(input.shape, p.shape) != input.shape:
        raise RuntimeError(f"expand: p of shape {list(p.shape)} must broadcast to the tensor's shape "
                           f"{list(input.shape)}: the number of sizes provided ({input.ndim}) must be "
                           f"greater or equal to the number of dimensions in the tensor ({p.ndim})")
    ordered = np.broadcast_to(p, input.shape).transpose(distributions.memory_order(input))
    made = distributions.bernoulli_each(ordered, of)(engine, ordered)
    return distributions.in_memory_order(made.reshape(-1), input)


# --- normal ---------------------------------------------------------------------------------------


@opaque(name="_normal_around", where=("aten",), node="normal")
def _normal_around(input: "Tensor | Number", std: "Tensor | Number", generator: "Any" = None) -> Array:
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
def _(s: Any, grad: Any) -> Any:
    return (grad.new_zeros(s.shape("input")) if s.needs("input") else None,
            grad.new_zeros(s.shape("std")) if s.needs("std") else None)


@factory(name="_normal_sized", where=("aten",), out=False)
def _normal_sized(size: "Ints", mean: "float", std: "float", *, generator: "Any" = None,
                  dtype: "dtype | None" = None, device: "device | None" = None) -> Any:
    """Normals of one mean and one standard deviation."""
    memory = Fill(sizes_of(size), np_dtype(dtype))
    return filled(memory, normal_array, "normal", generator, (mean, std), device)


@composite(where=("torch",), out=True)
def normal(mean: "Tensor | Number", std: "Tensor | Number" = 1.0, size: "Ints | None" = None, *,
           generator: "Any" = None, dtype: "dtype | None" = None, layout: "Any" = None,
           device: "device | None" = None, pin_memory: "bool" = False, requires_grad: "bool" = False):
    """Normals: normal(mean, std) with a tensor among them, or normal(mean, std, size)."""
    if size is not None:
        return _normal_sized(size, float(mean), float(std), generator=generator, dtype=dtype,
                              device=device, pin_memory=pin_memory, requires_grad=requires_grad)
    if not (hasattr(mean, "_a") or hasattr(std, "_a")):
        raise TypeError("normal() received an invalid combination of arguments: two numbers need a "
                        "size, as in normal(0.0, 1.0, size=(2, 3))")
    return _normal_around(mean, std, generator)


# --- multinomial, poisson -------------------------------------------------------------------------


def _no_rule(op: str) -> Any:
    def rule(s: Any, grad: Any) -> Any:
        missing(f"the gradient of {op} by its parameters",
                "use the score function (log_prob of the sample, detached) instead of rsample")
    return rule


@opaque(out=True, out_exact=True)
@resolved
def multinomial(input, num_samples: "int", replacement: "bool" = False, *, generator: "Any" = None) -> Way:
    """num_samples indices for each row of weights in input, drawn by them."""
    draw = categories.chooser(input, num_samples, replacement)
    return lambda a: draw(engine_of("multinomial", generator), a)


@opaque(where=("torch",), vjp=_no_rule("binomial"))
def binomial(count, prob, generator: "Any" = None) -> Array:
    """For each count and probability, the number of successes; both of one floating dtype."""
    of = dt.from_numpy_dtype(count.dtype)
    if not of.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {of.legacy}")
    if prob.dtype != count.dtype:
        raise RuntimeError(f"Found dtype {dt.from_numpy_dtype(prob.dtype).legacy} but expected "
                           f"{of.legacy}: count and prob must have one dtype")
    shape = broadcast_shapes(count.shape, prob.shape)
    counts, probabilities = (np.array(np.broadcast_to(a, shape)) for a in (count, prob))
    return samplers.binomial(engine_of("binomial", generator), counts, probabilities)


def _sampled(name: str, draw: Callable[..., Array], doc: str, rule: Any) -> None:
    def body(input, generator: "Any" = None) -> Array:
        return draw(engine_of(name, generator), np.asarray(input, order="C"))
    opaque(body, name=name, doc=doc, where=("torch",), vjp=rule)


_sampled("poisson", samplers.poisson, "For each rate in input a Poisson number, in input's dtype.",
         no_gradient)
_sampled("_standard_gamma", samplers.gamma, "For each shape parameter a gamma number of rate 1.",
         _no_rule("_standard_gamma"))
_sampled("_sample_dirichlet", samplers.dirichlet, "Dirichlet numbers along the last dim.",
         _no_rule("_sample_dirichlet"))
