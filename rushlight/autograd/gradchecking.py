"""gradcheck: gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from rushlight._engine.autograd.engine import grad as _grad
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """The gradients disagree."""


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(values: Sequence[Any]) -> list[Tensor]:
    return [v for v in values if isinstance(v, Tensor) and v.requires_grad]


def _parts(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of a result in a row: of complex ones, real and imaginary parts."""
    flat = a.reshape(-1)
    return np.stack([flat.real, flat.imag], 1).reshape(-1) if a.dtype.kind == "c" else flat


def _outputs(function: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Tensor]:
    return [o for o in _tuple(function(*inputs)) if isinstance(o, Tensor) and o.dtype.category >= 2]


def _analytical(output: Tensor, x: Tensor, one: Any) -> np.ndarray[Any, Any]:
    """The same matrix, one backward pass for each part of the output; of `one` gradient, only that column."""
    columns = []
    directions = (1, 1j) if output._a.dtype.kind == "c" else (1,)
    for place, direction in product(np.ndindex(*output._a.shape) if one is None else [...], directions):
        seed = np.zeros(output._a.shape, output._a.dtype)
        seed[place] = direction if one is None else one
        found = _grad([output], [x], [wrap(seed)], retain_graph=True, allow_unused=True)[0]
        columns.append(
            np.zeros(x._a.shape, x._a.dtype).reshape(-1) if found is None else np.array(found._a).reshape(-1)
        )
    return np.array(columns).reshape(len(columns), -1).T


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether func's gradients equal finite differences; inputs should be float64.

    nondet_tol: how far two backward runs may lie apart. fast_mode: compare one random combination of the
    Jacobian's elements instead of each (of complex functions, all are compared). check_batched_grad,
    check_batched_forward_grad: under vmap, too. check_undefined_grad and check_grad_dtypes have nothing to
    find: outputs are taken one by one anyway, and the engine gives gradients their inputs' dtypes. Errors:
    GradcheckError, or False without raise_exception; ValueError where no input requires a gradient,
    AssertionError for checks that need another one, RuntimeError for an input with a stride of 0.
    """
    _check_choices(check_backward_ad, check_forward_ad, check_batched_grad, check_batched_forward_grad)
    inputs = _tuple(inputs)
    targets = _checked_inputs(inputs)
    ways = [("", partial(_by_backward, nondet_tol=nondet_tol))] * check_backward_ad
    ways += [("computed with forward mode ", _by_forward)] * check_forward_ad
    try:
        results = _outputs(func, inputs)
        if any(o.is_sparse for o in results):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call "
                "to_dense(masked_grad=...) on the output of fn for gradcheck."
            )
        fast = fast_mode and not any(t.is_complex() for t in (*targets, *results))
        _compare(func, inputs, targets, (eps, atol, rtol), ways, fast)
        if check_batched_forward_grad:
            for x in targets:
                _batched(partial(_tangents, func, inputs, x), x)
        if check_backward_ad:
            _check_backward(func, inputs, check_batched_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_choices(backward: bool, forward: bool, batched: bool, batched_forward: bool) -> None:
    if not (forward or backward):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    for name, chosen, other, needed in (
        ("check_batched_grad", batched, "check_backward_ad", backward),
        ("check_batched_forward_grad", batched_forward, "check_forward_ad", forward),
    ):
        if chosen and not needed:
            raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _checked_inputs(inputs: tuple[Any, ...]) -> list[Tensor]:
    """Those that require gradients."""
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if t.dtype.name not in ("float64", "complex128"):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        if not t.is_sparse and any(st == 0 and n > 1 for st, n in zip(t.stride(), t.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    targets = _differentiable(inputs)
    if not targets:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    return targets


def _compare(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    targets: list[Tensor],
    bounds: tuple[float, float, float],
    ways: Sequence[Any],
    fast: bool,
) -> None:
    """Jacobians by backward and forward mode against differences; in fast mode v J u of random u and v."""
    eps, atol, rtol = bounds
    draws = np.random.default_rng(0)

    def unit(a: Any) -> Any:
        drawn = draws.normal(size=a.shape)
        return (drawn / (np.linalg.norm(drawn) or 1.0)).astype(a.dtype)

    seeds = [unit(o._a) for o in _outputs(func, inputs)] if fast else []
    for j, x in enumerate(targets):
        one = (unit(x._a), seeds) if fast else None
        wanted = _by_slopes(x, partial(_differences, func, inputs, x, eps), one)
        for what, way in ways:
            for i, (found, expected) in enumerate(zip(way(func, inputs, x, one), wanted, strict=True)):
                # What the differences' rounding adds up to over all elements, as PyTorch allows for.
                least = atol * max(np.abs(one[0]).sum() * np.abs(seeds[i]).sum(), 1) if one else atol
                if not np.allclose(found, expected, rtol, least, equal_nan=True):
                    raise GradcheckError(
                        f"Jacobian {what}mismatch for output {i} with respect to input {j},\n"
                        f"numerical:{expected}\nanalytical:{found}\n" + "in fast mode: all together\n" * fast
                    )


def _differences(func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, eps: float, seed: Any) -> Any:
    """How the results change as x moves along `seed`."""
    kept, sides = x._a.copy(), []
    for step in (eps, -eps):
        x._a[...] = kept + step * seed
        sides.append([np.array(o._a) for o in _outputs(func, inputs)])
    x._a[...] = kept
    return [(high - low) / (2 * eps) for high, low in zip(*sides, strict=True)]


def _by_slopes(x: Tensor, slopes: Callable[[Any], Any], one: Any) -> list[Any]:
    """For each result, its Jacobian (numel of x, parts of the result) from slopes(direction); of `one` pair
    (u, v for each result), v J u."""
    rows: list[list[Any]] = []
    for place in np.ndindex(*x._a.shape) if one is None else [...]:
        row: list[Any] = []
        for direction in (1, 1j) if x._a.dtype.kind == "c" else (1,):
            seed = np.zeros(x._a.shape, x._a.dtype)
            seed[place] = direction if one is None else one[0]
            # Conjugate Wirtinger: the real direction plus i times the imaginary one.
            found = [_parts(slope) * direction for slope in slopes(seed)]
            row = [a + b for a, b in zip(row, found, strict=True)] if row else found
        rows.append(row)
    if one is not None:
        return [(slope * v.reshape(-1)).sum() for slope, v in zip(rows[0], one[1], strict=True)]
    return [np.array(column).reshape(len(rows), -1) for column in zip(*rows, strict=True)]


def _check_backward(func: Callable[..., Any], inputs: tuple[Any, ...], under_vmap: bool) -> None:
    """What backward does under vmap, and with gradients of zeros."""
    results = [o for o in _outputs(func, inputs) if o.requires_grad]
    targets = _differentiable(inputs)
    for o in results if under_vmap else ():
        _batched(
            lambda seed, o=o: [
                wrap(np.zeros_like(t._a)) if g is None else g
                for t, g in zip(
                    targets, _grad([o], targets, [seed], retain_graph=True, allow_unused=True), strict=True
                )
            ],
            o,
        )
    found = _grad(results, targets, [wrap(np.zeros_like(o._a)) for o in results], allow_unused=True)
    if any(g is not None and np.count_nonzero(g.to_dense()._a if g.is_sparse else g._a) for g in found):
        raise GradcheckError("backward not multiplied by grad_output")


def _batched(run: Callable[..., Any], like: Tensor) -> None:
    """run(seed) of two seeds at once, by vmap, against one after the other."""
    vmap = import_module("rushlight.func.vmapping").vmap
    draws = np.random.default_rng(0)
    seeds = [wrap(draws.normal(size=like._a.shape).astype(like._a.dtype)) for _ in range(2)]
    try:
        together = vmap(run)(wrap(np.stack([s._a for s in seeds])))
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for found, *each in zip(together, *map(run, seeds), strict=True):
        expected = np.stack([e._a for e in each])
        if not np.allclose(found._a, expected):
            raise GradcheckError(
                "gradcheck or gradgradcheck failed while testing batched gradient "
                f"computation.\nGot:\n{found}\nExpected:\n{expected}"
            )


def _tangents(func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, seed: Tensor) -> list[Any]:
    """The results' tangents from the tangent of x."""
    from rushlight.autograd.forward_ad import dual_level, make_dual, unpack_dual

    with dual_level():
        dual = make_dual(x, seed)
        pairs = [unpack_dual(o) for o in _outputs(func, tuple(dual if v is x else v for v in inputs))]
    return [wrap(np.zeros_like(p._a)) if t is None else t for p, t in pairs]


def _by_backward(
    func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, one: Any, *, nondet_tol: float
) -> list[Any]:
    """The matrices for all outputs; of `one` pair (u, v for each output), v J u."""
    found = []
    for i, o in enumerate(_outputs(func, inputs)):
        if not o.requires_grad:
            found.append(np.zeros((x._a.size, _parts(o._a).size) if one is None else (), x._a.dtype))
            continue
        for _ in range(3):  # machine code may take a kernel's place between two runs, once
            twice = [_analytical(o, x, None if one is None else one[1][i]) for _ in range(2)]
            if np.allclose(*twice, rtol=0, atol=nondet_tol, equal_nan=True):
                break
        else:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {nondet_tol}."
            )
        found.append(twice[0] if one is None else (twice[0][:, 0] * one[0].reshape(-1)).sum())
    return found


def _by_forward(func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, one: Any) -> list[Any]:
    """The matrices for all outputs, a forward pass for each direction of x; of `one`, v J u."""
    return _by_slopes(x, lambda seed: [t._a for t in _tangents(func, inputs, x, wrap(seed))], one)


def _uniform(like: Tensor, apart: bool) -> Tensor:
    """Numbers of [-1, 1), drawn as torch.testing.make_tensor does; `apart` from each other in memory."""
    t: Any = like.detach().new_empty(like.shape)
    (t.view_as_real() if t.is_complex() else t).uniform_(-1, 1)
    return (t.repeat_interleave(2, -1)[..., ::2] if apart and t.numel() > 1 else t).requires_grad_()  # type: ignore[no-any-return]


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients themselves."""
    inputs = _tuple(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        seeds = [_uniform(o, gen_non_contig_grad_outputs) for o in outputs]
    else:
        seeds = list(_tuple(grad_outputs))
    count = len(inputs)

    def gradients(*values: Any) -> Any:
        ins, outs = values[:count], values[count:]
        targets = _differentiable(ins)
        results = [o for o in _outputs(func, ins)]
        found = _grad(results, targets, list(outs), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*inputs, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )
