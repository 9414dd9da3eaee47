"""torch.autograd.functional: products with Jacobians and Hessians, by the ordinary graph.

Inputs enter as leaves of their own (with create_graph, those that require grad as views, so that results
lead back to the caller's), and a product with a Jacobian is the gradient of its gradient, which is linear in
what it is given. strict refuses what does not depend on an input, stage by stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.tensors.gradient import refuse_switch
from rushlight.func.derivatives import Pullback
from rushlight.func.jacobians import jacfwd

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
Func = Callable[..., Any]
Tensors = tuple[Any, ...]
_STRICT = "This is not allowed in strict mode"
# What strict says where there is no gradient, by the stage at which it is missed.
_INDEPENDENT = {
    "back": f"The output of the user-provided function is independent of input {{}}. {_STRICT}.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs "
    f"when using the double backward trick to compute forward mode gradients. {_STRICT}.",
    "double_back": f"The jacobian of the user-provided function is independent of input {{}}. {_STRICT}.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the "
    f"grad_jacobian. {_STRICT} as it prevents from using the double backward trick to "
    "replace forward mode AD.",
}
_CONSTANT = (
    f"The {{}} of the user-provided function is independent of input {{}}. {_STRICT} when create_graph=True."
)
# What strict asks of values along the way.
_UNTRACKED = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided "
    f"function. {_STRICT}.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with "
    f"respect to input {{}} is independent of the input. {_STRICT}. You should ensure that your function is "
    "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
    "function for example).",
}


def _tuple(value: Any, what: str, of: str) -> Tensors:
    found = value if isinstance(value, tuple) else (value,)
    for i, t in enumerate(found):
        if not isinstance(t, torch.Tensor):
            which = f"value at index {i}" if isinstance(value, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {of} must be either a Tensor or a tuple of Tensors but the "
                f"{which} has type {type(t)}."
            )
    return found


def _entered(values: Tensors, create_graph: bool, tracked: bool = True) -> Tensors:
    """Tensors as inputs of their own graph (`tracked`: which require grad), or as views of the caller's.

    RuntimeError for the former inside transforms of torch.func, which would not see through that graph.
    """
    if LOCAL.depth and not (create_graph and all(t.requires_grad for t in values)):
        refuse_switch()
    return tuple(
        t.view_as(t)
        if create_graph and t.requires_grad and not t.is_sparse
        else t.clone()
        if create_graph and t.requires_grad
        else t.detach().requires_grad_(tracked)
        for t in values
    )


def _left(values: Any, create_graph: bool, single: bool) -> Any:
    """Results for the caller: outside the graph, unless that is wanted."""
    if isinstance(values, torch.Tensor):
        return values if create_graph else values.detach()
    found = tuple(_left(v, create_graph, False) for v in values)
    return found[0] if single else found


# --- PyTorch's inner names, which packages that extend these functions import ----------------------


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, Tensors]:
    """(whether a tuple was given, it or the one tensor as a tuple); TypeError for what holds no tensors."""
    if arg_name is None and fn_name is None:
        return isinstance(inp, tuple), inp if isinstance(inp, tuple) else (inp,)
    return isinstance(inp, tuple), _tuple(inp, str(arg_name), str(fn_name))


def _grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> Tensors:
    """Tensors as inputs of a graph of their own, or as views of the caller's."""
    return _entered(inputs, create_graph, need_graph)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results (also tuples of tuples) for the caller: outside the graph, unless that is wanted."""
    return _left(inputs, create_graph, False)


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The one element of a tuple where `to_unpack` is False; two flags: of it, and of its elements."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        res = res if inner else tuple(found[0] for found in res)
        return res if outer else res[0]
    return res if to_unpack else res[0]


def _check_tracked(values: Sequence[Any], what: str, strict: bool) -> None:
    for i, t in enumerate(values) if strict else ():
        if t is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i))
        if not t.requires_grad:
            raise RuntimeError(_UNTRACKED[what].format(i))


def _like(v: Any, targets: Tensors, of: str, source: str, many: bool, create_graph: bool) -> Tensors:
    """The vectors of a product, checked and entered; ones for a single number."""
    if v is None:
        if len(targets) != 1 or targets[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {source} a single Tensor with a single element."
            )
        return tuple(torch.ones_like(t) for t in targets)
    found = _entered(_tuple(v, "v", of), create_graph, False)
    if len(found) != len(targets):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(targets)} but got {len(found)}."
            if many
            else "The given v should contain a single Tensor."
        )
    for i, (t, target) in enumerate(zip(found, targets, strict=True)):
        if t.shape != target.shape:
            raise RuntimeError(
                f"{f'Entry {i} in ' if many else ''}v has invalid size: should be "
                f"{target.shape} but got {t.shape}."
            )
    return found


def _pulled(
    outputs: Sequence[Any], inputs: Tensors, grads: Sequence[Any] | None, create: bool, batched: bool = False
) -> Tensors:
    """Gradients of those outputs that have any; None where there is none."""
    chosen = [
        (o, g)
        for o, g in zip(outputs, grads or [None] * len(outputs), strict=True)
        if o is not None and o.requires_grad
    ]
    if not chosen:
        return (None,) * len(inputs)
    outs, of = map(list, zip(*chosen, strict=True))
    return torch.autograd.grad(
        outs, inputs, of, allow_unused=True, create_graph=create, retain_graph=True, is_grads_batched=batched
    )


def _filled(grads: Tensors, like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """Gradients with zeros where there is none, which strict refuses."""
    found = []
    for i, (g, t) in enumerate(zip(grads, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(i))
            g = torch.zeros_like(t)
        elif strict and create_graph and not g.requires_grad:
            raise RuntimeError(_CONSTANT.format("hessian" if "double" in stage else "jacobian", i))
        found.append(g)
    return tuple(found)


class _Point:
    """A function at its inputs: `ins`, `outs`, and whether each is a tuple for the caller."""

    def __init__(self, func: Func, inputs: Any, of: str, strict: bool, create_graph: bool) -> None:
        self.many = isinstance(inputs, tuple)
        self.ins = _entered(_tuple(inputs, "inputs", of), create_graph)
        found = func(*self.ins)
        self.many_outs = isinstance(found, tuple)
        self.outs = _tuple(found, "outputs of the user-provided function", of)
        _check_tracked(self.outs, "outputs", strict)

    def number(self, of: str) -> None:
        """RuntimeError unless the function gave a single number."""
        if self.many_outs:
            raise RuntimeError(f"The function given to {of} should return a single Tensor")
        if self.outs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {of} should contain a single element"
            )


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v times its Jacobian); v may be left away where func gives one number.

    inputs: a tensor or a tuple; v like the results. create_graph: the answers can be differentiated. strict:
    RuntimeError where a result does not depend on an input, which else counts as zeros.
    """
    with torch.enable_grad():
        point = _Point(func, inputs, "vjp", strict, create_graph)
        vs = _like(v, point.outs, "vjp", "user-provided function returns", point.many_outs, create_graph)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _pulled(point.outs, point.ins, vs, create_graph)
        found = _filled(found, point.ins, strict, create_graph, "back")
    return (_left(point.outs, create_graph, not point.many_outs), _left(found, create_graph, not point.many))


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), its Jacobian times v); v may be left away where the input is one number.

    By two backward passes; func.jvp takes one forward pass. v like the inputs; create_graph and strict as of
    vjp.
    """
    with torch.enable_grad():
        ins = _tuple(inputs, "inputs", "jvp")
        vs = _like(
            v, ins, "jvp", "input to the user-provided function is", isinstance(inputs, tuple), create_graph
        )
        point = _Point(func, inputs, "jvp", strict, create_graph)
        through = tuple(torch.zeros_like(o, requires_grad=True) for o in point.outs)
        grads = _pulled(point.outs, point.ins, through, True)
        _check_tracked(grads, "grad_inputs", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _pulled(grads, through, vs, create_graph)
        found = _filled(found, point.outs, strict, create_graph, "back_trick")
    return tuple(_left(x, create_graph, not point.many_outs) for x in (point.outs, found))


def _check_strategy(strategy: str, vectorize: bool, strict: bool, create_graph: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more '
            'performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please '
                'either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and "
                '`strategy="forward-mode"` '
                "are not supported together (yet). Please either set `strict=False` or "
                '`strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
                "only implemented for `vectorize=True`."
            )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def _construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> Tensors:
    """For each tensor its part of the unit vectors of all together: (sum of numels, its numel)."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            "Expected tensors and tensor_numels to have the same length, but got "
            f"{len(tensors)} and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total, start, chunks = sum(tensor_numels), 0, []
    for t, n in zip(tensors, tensor_numels, strict=True):
        chunk = t.new_zeros(total, n)
        chunk.diagonal(-start).fill_(1)
        chunks.append(chunk)
        start += n
    return tuple(chunks)


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of func: for a tuple of inputs (results) a tuple of blocks for each.

    vectorize: all rows at once, by vmap. strategy: "reverse-mode", or "forward-mode", which needs vectorize.
    strict: RuntimeError where a result does not depend on an input.
    """
    _check_strategy(strategy, vectorize, strict, create_graph)
    if strategy == "forward-mode":
        many, ins = isinstance(inputs, tuple), _tuple(inputs, "inputs", "jacobian")
        return jacfwd(func, tuple(range(len(ins))) if many else 0)(*ins)
    with torch.enable_grad():
        point = _Point(func, inputs, "jacobian", strict, create_graph)
        rows = _batched_rows if vectorize else _rows
        blocks = tuple(
            tuple(part.reshape([*o.shape, *t.shape]) for part, t in zip(parts, point.ins, strict=True))
            for o, parts in zip(point.outs, rows(point, strict, create_graph), strict=True)
        )
    found = tuple(_left(b, create_graph, not point.many) for b in blocks)
    return found if point.many_outs else found[0]


def _batched_rows(point: _Point, strict: bool, create_graph: bool) -> list[Any]:
    """For each result the gradients of its elements by each input, in one run."""
    sizes = [o.numel() for o in point.outs]
    basis = [
        b.view(sum(sizes), *o.shape)
        for b, o in zip(_construct_standard_basis_for(point.outs, sizes), point.outs, strict=True)
    ]
    found = [
        torch.zeros((sum(sizes), *t.shape), dtype=t.dtype) if g is None else g
        for g, t in zip(_pulled(point.outs, point.ins, basis, create_graph, True), point.ins, strict=True)
    ]
    return list(zip(*[g.split(sizes) for g in found], strict=True))


def _rows(point: _Point, strict: bool, create_graph: bool) -> list[Any]:
    """For each result the gradients of its elements by each input, one after the other."""
    found = []
    for i, o in enumerate(point.outs):
        parts: list[list[Any]] = [[] for _ in point.ins]
        for j, one in enumerate(o.reshape(-1)):
            grads = _pulled((one,), point.ins, None, create_graph)
            for k, (g, t) in enumerate(zip(grads, point.ins, strict=True)):
                if g is None:
                    if strict:
                        raise RuntimeError(
                            f"Output {i} of the user-provided function is independent of "
                            f"input {k}. {_STRICT}."
                        )
                    g = torch.zeros_like(t)
                elif strict and create_graph and not g.requires_grad:
                    raise RuntimeError(_CONSTANT.format("jacobian", j))
                parts[k].append(g)
        found.append(
            [
                torch.stack(part) if part else o.new_zeros((0, *t.shape))
                for part, t in zip(parts, point.ins, strict=True)
            ]
        )
    return found


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one number as its result: input shape + input shape.

    For a tuple of inputs, a tuple of tuples. Options as of jacobian.
    """
    ins, many = _tuple(inputs, "inputs", "hessian"), isinstance(inputs, tuple)
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def checked(*given: Any) -> Any:
        out = func(*given)
        _check_tracked(_tuple(out, "outputs of the user-provided function", "hessian"), "outputs", strict)
        if isinstance(out, tuple):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if out.numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single element"
            )
        return out.squeeze()

    def gradient(*given: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            # Duals, whose reverse pass must not be cut off from them.
            given = tuple(
                t.requires_grad_() if not t.requires_grad and type(t) is torch.Tensor else t for t in given
            )
            point = Pullback(None, lambda ins: checked(*ins), given, False, "hessian")
            found = point.back([torch.ones_like(point.outs[0])])
        else:
            found = jacobian(checked, given, create_graph=True)
        _check_tracked(found, "jacobian", strict)
        return found

    found = jacobian(gradient, ins, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


def _gradients(
    name: str, func: Func, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[_Point, Any, Any]:
    """(the point, v as the inputs are, the gradients there) of a function with one number as its result."""
    ins = _tuple(inputs, "inputs", name)
    several = isinstance(inputs, tuple)
    vs = _like(v, ins, name, "input to the user-provided function is", several, create_graph)
    point = _Point(func, inputs, name, strict, create_graph)
    point.number(name)
    grads = _pulled(point.outs, point.ins, None, True)
    _check_tracked(grads, "jacobian", strict)
    return point, vs, grads


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), v times its Hessian): v may be left away where the input is one number."""
    with torch.enable_grad():
        point, vs, grads = _gradients("vhp", func, inputs, v, create_graph, strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _pulled(grads, point.ins, vs, create_graph)
        found = _filled(found, point.ins, strict, create_graph, "double_back")
    return _left(point.outs, create_graph, True), _left(found, create_graph, not point.many)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(func(inputs), its Hessian times v): v may be left away where the input is one number."""
    with torch.enable_grad():
        point, vs, grads = _gradients("hvp", func, inputs, v, create_graph, strict)
        through = tuple(torch.zeros_like(t, requires_grad=True) for t in point.ins)
        double = _pulled(grads, point.ins, through, True)
        _check_tracked(double, "grad_inputs", strict)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _filled(
            _pulled(double, through, vs, create_graph), point.ins, strict, create_graph, "double_back_trick"
        )
    return _left(point.outs, create_graph, True), _left(found, create_graph, not point.many)
