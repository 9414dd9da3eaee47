"""gradcheck: gradients against finite differences."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from rushlight.autograd.engine import grad as _grad
from rushlight.tensor.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """The gradients disagree."""


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(values: Sequence[Any]) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor) and v.requires_grad]


def _numerical(function: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, number: int,
               eps: float) -> np.ndarray[Any, Any]:
    """d output[number] / d x as a matrix (numel of x, parts of output), by central differences."""
    a = x._a
    flat_places = list(np.ndindex(*a.shape))
    rows = []
    for place in flat_places:
        before = a[place]
        row: Any = 0
        for step in (eps, 1j * eps) if a.dtype.kind == "c" else (eps,):
            a[place] = before + step
            high = np.array(_outputs(function, inputs)[number]._a)
            a[place] = before - step
            low = np.array(_outputs(function, inputs)[number]._a)
            a[place] = before
            slope = _parts((high - low) / (2 * eps))
            # Conjugate Wirtinger: real direction plus i times the imaginary one.
            row = row + (slope if step == eps else 1j * slope)
        rows.append(row)
    return np.array(rows).reshape(len(flat_places), -1)


def _parts(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of a result in a row: of complex ones, real and imaginary parts."""
    flat = a.reshape(-1)
    return np.stack([flat.real, flat.imag], 1).reshape(-1) if a.dtype.kind == "c" else flat


def _outputs(function: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Tensor]:
    return [o for o in _tuple(function(*inputs)) if isinstance(o, Tensor) and o.dtype.category >= 2]


def _analytical(output: Tensor, x: Tensor) -> np.ndarray[Any, Any]:
    """The same matrix, one backward pass for each part of the output."""
    columns = []
    directions = (1, 1j) if output._a.dtype.kind == "c" else (1,)
    for place, direction in product(np.ndindex(*output._a.shape), directions):
        seed = np.zeros(output._a.shape, output._a.dtype)
        seed[place] = direction
        found = _grad([output], [x], [wrap(seed)], retain_graph=True, allow_unused=True)[0]
        columns.append(np.zeros(x._a.shape, x._a.dtype).reshape(-1) if found is None
                       else np.array(found._a).reshape(-1))
    return np.array(columns).reshape(len(columns), -1).T


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True,
              fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Whether func's gradients equal finite differences; inputs should be float64."""
    inputs = _tuple(inputs)
    targets = _differentiable(inputs)
    if not targets:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of "
                         "the them have requires_grad=True.")
    for t in targets:
        if t.dtype.name not in ("float64", "complex128"):
            warnings.warn("Input requires gradient and is not a double precision floating point or "
                          "complex. This check will likely fail if all the inputs are not of double "
                          "precision floating point or complex. ", stacklevel=2)
    ways = [("", _by_backward)] * check_backward_ad
    ways += [("computed with forward mode ", _by_forward)] * check_forward_ad
    try:
        _compare(func, inputs, targets, eps, atol, rtol, ways)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(func: Callable[..., Any], inputs: tuple[Any, ...], targets: list[Tensor], eps: float,
             atol: float, rtol: float, ways: Sequence[Any]) -> None:
    for j, x in enumerate(targets):
        for what, way in ways:
            for i, found in enumerate(way(func, inputs, x)):
                expected = _numerical(func, inputs, x, i, eps)
                if not np.allclose(found, expected, rtol, atol, equal_nan=True):
                    raise GradcheckError(f"Jacobian {what}mismatch for output {i} with respect to input "
                                         f"{j},\nnumerical:{expected}\nanalytical:{found}\n")


def _by_backward(func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor) -> list[Any]:
    return [_analytical(o, x) if o.requires_grad else np.zeros((x._a.size, _parts(o._a).size), x._a.dtype)
            for o in _outputs(func, inputs)]


def _by_forward(func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor) -> list[Any]:
    """The matrices for all outputs, a forward pass for each direction of x."""
    from rushlight.autograd.forward_ad import dual_level, make_dual, unpack_dual

    rows: list[list[Any]] = []
    for place in np.ndindex(*x._a.shape):
        slopes: list[Any] = []
        for direction in (1, 1j) if x._a.dtype.kind == "c" else (1,):
            seed = np.zeros(x._a.shape, x._a.dtype)
            seed[place] = direction
            with dual_level():
                dual = make_dual(x, wrap(seed))
                parts = [unpack_dual(o) for o in _outputs(func, tuple(dual if v is x else v for v in inputs))]
            found = [_parts(np.zeros_like(p._a) if t is None else t._a) * direction for p, t in parts]
            slopes = [a + b for a, b in zip(slopes, found, strict=True)] if slopes else found
        rows.append(slopes)
    return [np.array(column) for column in zip(*rows, strict=True)]


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
                  atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False,
                  masked: bool = False) -> bool:
    """gradcheck of the gradients themselves."""
    inputs = _tuple(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        generator = np.random.default_rng(0)
        seeds = [wrap(generator.normal(size=o._a.shape).astype(o._a.dtype)).requires_grad_() for o in outputs]
    else:
        seeds = list(_tuple(grad_outputs))
    count = len(inputs)

    def gradients(*values: Any) -> Any:
        ins, outs = values[:count], values[count:]
        targets = _differentiable(ins)
        results = [o for o in _outputs(func, ins)]
        found = _grad(results, targets, list(outs), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)
