"""torch._custom_op.autograd: gradients of these ops, by what impl_save_for_backward and impl_backward say."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NoReturn

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight.autograd import Function


def validated_outputs(differentiable: Any, count: int) -> None:
    """RuntimeError for what is no list of a bool for each result."""
    if differentiable is None:
        return
    fits = isinstance(differentiable, list) and all(isinstance(one, bool) for one in differentiable)
    if not fits or len(differentiable) != count:
        raise RuntimeError(
            "impl_backward(output_differentiability): expected output_differentiability to be a "
            "list of bools "
            f"with length equal to the number of outputs of this CustomOp got: {differentiable}"
        )


def kernel(op: Any) -> Callable[..., Any]:
    """What runs for tensors that may require grad: the formula, or an error where there is none."""

    def run(*args: Any, **kwargs: Any) -> Any:
        has = [op._has_impl(kind) for kind in ("save_for_backward", "backward")]
        if all(has):
            leaves, tree = flatten(args)
            box: list[Any] = []
            found = _Call.apply(op, tree, box, *leaves)
            return box[0].unflatten(list(found))
        if any(has):
            kinds = ("backward", "save_for_backward")
            present, missing = kinds if has[1] else reversed(kinds)
            raise RuntimeError(
                f"We found a '{present}' registration for {op} at {op._get_impl(present).location} but were "
                f"unable to find a '{missing}' registration. To use the CustomOp API to register a backward "
                "formula, please provide us both a backward function and a 'save for backward' function via "
                "`impl_backward` and `impl_save_for_backward` respectively."
            )
        given = [leaf for leaf in flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in given):
            raise RuntimeError("Autograd has not been implemented for operator")
        return _below(op, args, kwargs)

    setattr(run, "of_custom_op", True)
    return run


def _below(op: Any, args: Any, kwargs: Any) -> Any:
    """Call the op below autograd."""
    return op._ophandle._compute(flatten((args, kwargs))[0], args, kwargs)


class _Call(Function):
    """A call as a node: its inputs are the leaves of the arguments, its outputs those of the results."""

    @staticmethod
    def forward(ctx: Any, op: Any, tree: Any, box: list[Any], *leaves: Any) -> tuple[Any, ...]:
        """The op's results, and what is saved of the call."""
        args = tree.unflatten(list(leaves))
        output = _below(op, args, {})
        made: Any = namedtuple
        named = made(f"{op._opname}_args", [p.name for p in op._schema.arguments])
        kept = op._get_impl("save_for_backward").func(named(*args), output)
        values, ctx.kept = flatten((kept, None))
        ctx.places = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*[values[i] for i in ctx.places])
        ctx.others = [None if isinstance(value, torch.Tensor) else value for value in values]
        ctx.op, ctx.types = op, named(*tree_map(type, args))
        _mark(ctx, output, op._output_differentiability)
        flat, out_tree = flatten(output)
        box.append(out_tree)
        ctx.results = out_tree
        return tuple(flat)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """The gradients of impl_backward's function, one for each leaf."""
        values = list(ctx.others)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            values[i] = t
        saved, _ = ctx.kept.unflatten(values)
        given = ctx.results.unflatten(list(grads))
        several = given if isinstance(given, tuple) else (given,)
        found = ctx.op._get_impl("backward").func(object(), saved, *several)
        _check(ctx.op, found, ctx.types)
        flat: list[Any] = []
        for name, kind in ctx.types._asdict().items():
            one = found.get(name)
            flat += _leaves_of(one, kind)
        return None, None, None, *flat


def _leaves_of(grad: Any, kind: Any) -> list[Any]:
    """A gradient for each leaf of an argument of these types."""
    if not isinstance(kind, (list, tuple)):
        return [grad]
    grads = [None] * len(kind) if grad is None else grad
    return [leaf for one, inner in zip(grads, kind, strict=True) for leaf in _leaves_of(one, inner)]


def _mark(ctx: Any, output: Any, differentiable: list[bool] | None) -> None:
    """Mark results that have no gradient."""
    if differentiable is None:
        return
    several = output if isinstance(output, tuple) else (output,)
    without: list[Any] = []
    for i, (wanted, result) in enumerate(zip(differentiable, several, strict=True)):
        if isinstance(result, (torch.Tensor, list)):
            whole = result if isinstance(result, list) else [result]
            without += [] if wanted else whole
        elif wanted:
            raise RuntimeError(
                f"With output_differentiability={differentiable}. At idx {i}, we received an object of type "
                f"{type(result)} that is not a Tensor, so it cannot have be marked as differentiable in "
                "output_differentiability."
            )
    if without:
        ctx.mark_non_differentiable(*without)


def _check(op: Any, grads: Any, types: Any) -> None:
    """RuntimeError where a dict of gradients does not fit the arguments."""

    def error(what: str) -> NoReturn:
        raise RuntimeError(
            f"In the backward function defined for {op} at {op._get_impl('backward').location} using the "
            f"CustomOp API, {what}"
        )

    if not isinstance(grads, dict):
        error(f"expected the output of the backward function to be a dict but got {type(grads)}")
    wanted = {p.name for p in op._schema.arguments if p.type.startswith("Tensor")}
    if wanted != grads.keys():
        error(
            f"expected the returned grad_input dict to have keys {wanted} but got {grads.keys()}. "
            "The backward "
            "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor "
            "or Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the "
            "grad_input dict"
        )
    for name, grad in grads.items():
        kind = getattr(types, name)
        if isinstance(kind, list):
            _check_list(error, name, grad, kind)
        elif grad is not None and not isinstance(grad, torch.Tensor):
            error(
                f"got object of type {type(grad)} as the gradient for input '{name}', but expected the "
                "gradient to be either None or a Tensor"
            )
        elif grad is not None and not issubclass(kind, torch.Tensor):
            error(
                f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because "
                f"input '{name}' was not a Tensor (it was type {kind})."
            )


def _check_list(error: Callable[[str], NoReturn], name: str, grads: Any, kinds: list[Any]) -> None:
    """The same for a list of tensors."""
    head = f"for input '{name}' expected the grad_input dict to hold a list of"
    if not isinstance(grads, (tuple, list)):
        error(f"{head} gradients but got object of type {type(grads)}.")
    if len(grads) != len(kinds):
        error(f"{head} {len(kinds)} gradients but got {len(grads)}")
    for i, (grad, kind) in enumerate(zip(grads, kinds, strict=True)):
        if grad is not None and not isinstance(grad, torch.Tensor):
            error(f"{head} None or Tensor gradients but got object of {type(grad)} at index {i}")
        if grad is not None and not issubclass(kind, torch.Tensor):
            error(
                f"for input '{name}', got a Tensor as the gradient for the {i}-th value but expected None "
                f"because the {i}-th value was not a Tensor (it was type {kinds}"
            )
