"""torch.autograd.functional: products with Jacobians and Hessians, by the transforms of torch.func."""
from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.func.derivatives import Func, Pullback, jvp as push
from rushlight.func.jacobians import jacfwd
from rushlight.func.vmapping import vmap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
_STRICT = "This is not allowed in strict mode"


def _tuple(value: Any, what: str, of: str) -> tuple[Any, ...]:
    found = value if isinstance(value, tuple) else (value,)
    for t in found:
        if not isinstance(t, torch.Tensor):
            raise TypeError(f"The {what} given to {of} must be either a Tensor or a tuple of Tensors but the "
                            f"given {what} has type {type(t)}.")
    return found


def _like(v: Any, targets: Any, of: str, source: str = "input to the user-provided function "
                                                       "is") -> tuple[Any, ...]:
    """The vectors of a product, checked; ones for a single number."""
    if v is None:
        if len(targets) > 1 or targets[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {source} a single Tensor with a single "
                               "element.")
        return tuple(torch.ones_like(t) for t in targets)
    found = _tuple(v, "v", of)
    if len(found) != len(targets):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(targets)} but got {len(found)}.")
    for t, target in zip(found, targets, strict=True):
        if t.shape != target.shape:
            raise RuntimeError(f"v has invalid size: should be {target.shape} but got {t.shape}.")
    return found


class _Point(Pullback):
    """func at its inputs, the results as a tuple."""

    def __init__(self, func: Func, inputs: Any, of: str, strict: bool) -> None:
        def listed(given: Any) -> Any:
            found = func(*given)
            self.single = not isinstance(found, tuple)
            return _tuple(found, "outputs of the user-provided function", of)
        super().__init__(None, listed, _tuple(inputs, "inputs", of), False, of)
        for i, o in enumerate(self.outs):
            if strict and not o.requires_grad:
                raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. "
                                   "The outputs must be computed in a differentiable manner from the input "
                                   "in strict mode.")


def _left(values: Any, create_graph: bool, single: bool) -> Any:
    found = tuple(v if create_graph else v.detach() for v in values)
    return found[0] if single else found


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v times its Jacobian); v may be left away where func gives one number."""
    point = _Point(func, inputs, "vjp", strict)
    vs = _like(v, point.outs, "vjp", "user-provided function returns")
    found = point.back(list(vs), "The output of the user-provided function is independent of input {}. "
                       f"{_STRICT}." if strict else "")
    return (_left(point.value(), create_graph, point.single),
            _left(found, create_graph, not isinstance(inputs, tuple)))


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), its Jacobian times v); v may be left away where the input is one number."""
    ins = _tuple(inputs, "inputs", "jvp")
    vs = _like(v, ins, "jvp")
    if strict:
        _Point(func, inputs, "jvp", strict)
    outs, found = push(func, ins, vs)
    single = not isinstance(outs, tuple)
    return tuple(_left((x,) if single else x, create_graph, single) for x in (outs, found))


def _check_strategy(strategy: str, vectorize: bool, strict: bool, create_graph: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    if strategy == "forward-mode" and (not vectorize or create_graph):
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is "
                                  "only implemented for `vectorize=True`, and not with `create_graph=True`.")
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                           "supported together. Please either set `strict=False` or `vectorize=False`.")


def jacobian(func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of func: for a tuple of inputs (results) a tuple of blocks for each.

    vectorize: all rows at once, by vmap. strategy: "reverse-mode", or "forward-mode", which needs vectorize.
    strict: RuntimeError where a result does not depend on an input.
    """
    _check_strategy(strategy, vectorize, strict, create_graph)
    single, ins = not isinstance(inputs, tuple), _tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        return jacfwd(func, 0 if single else tuple(range(len(ins))))(*ins)
    point, blocks = _Point(func, inputs, "jacobian", strict), []
    for i, o in enumerate(point.outs):
        rows = torch.eye(o.numel(), dtype=o.dtype).reshape(o.numel(), *o.shape)
        why = f"Output {i} of the user-provided function is independent of input {{}}. {_STRICT}." * strict

        def pull(row: Any, i: int = i, why: str = why) -> Any:
            return point.back([row if j == i else None for j in range(len(point.outs))], why)
        parts = vmap(pull)(rows) if vectorize else list(map(torch.stack, zip(*map(pull, rows), strict=True)))
        if strict and create_graph:
            _check_dependent(parts, "The jacobian of the user-provided function is independent of input {}. "
                             f"{_STRICT} when create_graph=True.")
        shaped = [p.reshape(*o.shape, *t.shape) for p, t in zip(parts, ins, strict=True)]
        blocks.append(_left(shaped, create_graph, single))
    return blocks[0] if point.single else tuple(blocks)


def _check_dependent(grads: Any, text: str) -> None:
    for i, g in enumerate(grads):
        if not g.requires_grad:
            raise RuntimeError(text.format(i))


def _gradient(func: Func, of: str, single: bool, strict: bool) -> Any:
    """The function's gradient as a function; its `value` is the function's."""
    def gradient(*given: Any) -> Any:
        point = _Point(func, given, of, strict)
        if not point.single:
            raise RuntimeError(f"The function given to {of} should return a single Tensor")
        if point.outs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {of} should contain a single "
                               "element")
        found = point.back([torch.ones_like(point.outs[0])])
        if strict:
            _check_dependent(found, "While computing the hessian, found that the jacobian of the "
                                    "user-provided function with respect to input {} is independent of the "
                                    f"input. {_STRICT}.")
        gradient.value = point.value()  # type: ignore[attr-defined]
        return found[0] if single else found
    return gradient


def hessian(func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as its result; for a tuple of inputs, a tuple of tuples."""
    gradient = _gradient(func, "hessian", not isinstance(inputs, tuple), strict)
    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _product(of: str) -> Func:
    def product(func: Func, inputs: Any, v: Any = None, create_graph: bool = False,
                strict: bool = False) -> Any:
        gradient = _gradient(func, of, False, strict)
        found = vjp(gradient, inputs, _like(v, _tuple(inputs, "inputs", of), of), create_graph)[1]
        return _left(gradient.value, create_graph, True), found
    product.__name__ = product.__qualname__ = of
    product.__doc__ = "(func(inputs), v times its Hessian): v may be left away where the input is one number."
    return product


# Hessians are symmetric.
vhp, hvp = _product("vhp"), _product("hvp")
