"""torch.autograd.functional: products with Jacobians and Hessians, by the transforms of torch.func."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight.func.derivatives import Pullback
from rushlight.func.derivatives import jvp as push
from rushlight.func.vmapping import vmap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
_INDEPENDENT = "This is not allowed in strict mode."
_SCALAR = "The vector v can only be None if the {} a single Tensor with a single element."


def _tuple(value: Any, what: str, of: str) -> tuple[Any, ...]:
    found = value if isinstance(value, tuple) else (value,)
    for t in found:
        if not isinstance(t, torch.Tensor):
            raise TypeError(f"The {what} given to {of} must be either a Tensor or a tuple of Tensors but the given {what} "
                            f"has type {type(t)}.")
    return found


def _like(v: Any, targets: tuple[Any, ...], of: str, source: str) -> tuple[Any, ...]:
    """The vectors of a product, checked; ones for a single number."""
    if v is None:
        if len(targets) > 1 or targets[0].numel() != 1:
            raise RuntimeError(_SCALAR.format(source))
        return tuple(torch.ones_like(t) for t in targets)
    found = _tuple(v, "v", of)
    if len(found) != len(targets):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(targets)} but got {len(found)}.")
    for t, target in zip(found, targets, strict=True):
        if t.shape != target.shape:
            raise RuntimeError(f"v has invalid size: should be {target.shape} but got {t.shape}.")
    return found


def _point(func: Callable[..., Any], inputs: Any, of: str, strict: bool) -> tuple[Pullback, tuple[Any, ...]]:
    """func at its inputs, the results as a tuple."""
    ins = _tuple(inputs, "inputs", of)
    kinds = []

    def of_inputs(given: Any) -> Any:
        found = func(*given)
        kinds.append(isinstance(found, tuple))
        return _tuple(found, "outputs of the user-provided function", of)
    point = Pullback(of_inputs, ins, False, of)
    point.single = not kinds[0]
    for i, o in enumerate(point.outs):
        if strict and not o.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                               "computed in a differentiable manner from the input when running in strict mode.")
    return point, ins


def _left(values: Any, create_graph: bool, single: bool) -> Any:
    found = tuple(v if create_graph else v.detach() for v in values)
    return found[0] if single else found


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v times its Jacobian); v may be left away where func gives one number."""
    point, ins = _point(func, inputs, "vjp", strict)
    vs = _like(v, tuple(point.outs), "vjp", "user-provided function returns")
    found = point.back(list(vs), "The output of the user-provided function is independent of input {}. "
                       + _INDEPENDENT if strict else "")
    return (_left(point.value(), create_graph, point.single),
            _left(found, create_graph, not isinstance(inputs, tuple)))


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), its Jacobian times v); v may be left away where the input is one number."""
    ins = _tuple(inputs, "inputs", "jvp")
    vs = _like(v, ins, "jvp", "input to the user-provided function is")
    if strict:
        _point(func, inputs, "jvp", strict)
    outs, found = push(lambda *given: _tuple(func(*given), "outputs of the user-provided function", "jvp"), ins, vs)
    return _left(outs, create_graph, len(outs) == 1), _left(found, create_graph, len(outs) == 1)


def _check_strategy(strategy: str, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
                             'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to '
                             'use "reverse-mode".')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                                  "implemented for `vectorize=True`.")


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of func: for a tuple of inputs (results) a tuple of blocks for each.

    vectorize: all rows at once, by vmap. strategy: "reverse-mode", or "forward-mode", which needs vectorize.
    strict: RuntimeError where a result does not depend on an input.
    """
    _check_strategy(strategy, vectorize)
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")
    single_in = not isinstance(inputs, tuple)
    if strategy == "forward-mode":
        from rushlight.func.jacobians import jacfwd

        if create_graph:
            raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-"
                                      "mode\"` are not supported together (yet). Please either set `create_graph=False` "
                                      "or `strategy=\"reverse-mode\"`.")
        return jacfwd(func, 0 if single_in else tuple(range(len(inputs))))(*_tuple(inputs, "inputs", "jacobian"))
    point, ins = _point(func, inputs, "jacobian", strict)
    blocks = []
    for i, o in enumerate(point.outs):
        rows = torch.eye(o.numel(), dtype=o.dtype).reshape(o.numel(), *o.shape)
        why = f"Output {i} of the user-provided function is independent of input {{}}. {_INDEPENDENT}" if strict else ""

        def pull(row: Any, i: int = i, why: str = why) -> Any:
            return point.back([row if j == i else None for j in range(len(point.outs))], why)
        parts = vmap(pull)(rows) if vectorize else [torch.stack(c) for c in zip(*map(pull, rows), strict=True)]
        if strict and create_graph:
            _check_dependent(parts, "The jacobian of the user-provided function is independent of input {}. "
                             "This is not allowed in strict mode when create_graph=True.")
        blocks.append(_left([p.reshape(*o.shape, *t.shape) for p, t in zip(parts, ins, strict=True)], create_graph,
                            single_in))
    return blocks[0] if point.single else tuple(blocks)


def _check_dependent(grads: Any, text: str) -> None:
    for i, g in enumerate(grads):
        if not g.requires_grad:
            raise RuntimeError(text.format(i))


def _gradient(func: Callable[..., Any], of: str, single: bool, strict: bool) -> Callable[..., tuple[Any, ...]]:
    """The function's gradient as a function; the value on the side."""
    def gradient(*given: Any) -> tuple[Any, ...]:
        point, _ = _point(func, given, of, strict)
        if not point.single:
            raise RuntimeError(f"The function given to {of} should return a single Tensor")
        if point.outs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {of} should contain a single element")
        found = point.back([torch.ones_like(point.outs[0])])
        if strict:
            _check_dependent(found, "While computing the hessian, found that the jacobian of the user-provided function "
                             "with respect to input {} is independent of the input. " + _INDEPENDENT)
        gradient.value = point.value()[0]  # type: ignore[attr-defined]
        return found if not single else found[0]  # type: ignore[no-any-return]
    return gradient


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as its result; for a tuple of inputs, a tuple of tuples."""
    _check_strategy(outer_jacobian_strategy, vectorize)
    gradient = _gradient(func, "hessian", not isinstance(inputs, tuple), strict)
    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _product(of: str) -> Callable[..., Any]:
    def product(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
                strict: bool = False) -> Any:
        gradient = _gradient(func, of, False, strict)
        vs = _like(v, _tuple(inputs, "inputs", of), of, "input to the user-provided function is")
        found = vjp(gradient, inputs, vs, create_graph)[1]
        return _left([gradient.value], create_graph, True), found  # type: ignore[attr-defined]
    product.__name__ = product.__qualname__ = of
    product.__doc__ = "(func(inputs), v times its Hessian): v may be left away where the input is one number."
    return product


# Hessians are symmetric.
vhp, hvp = _product("vhp"), _product("hvp")
