"""Custom autograd Functions under vmap and in forward mode."""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from rushlight.autograd.function import Function
from rushlight.base.pytree import broadcast, flatten
from rushlight.dispatch import state
from rushlight.tensor.tensor import Tensor
from rushlight.transforms.batching import Batched
from rushlight.transforms.levels import wrapper


_NO_CONTEXT = ("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
               "...), it must override the setup_context staticmethod.")


class VmapInfo(NamedTuple):
    """What Function.vmap gets to know."""

    batch_size: int
    randomness: str


def vmap(level: Any, of: Any, args: tuple[Any, ...]) -> Any:
    """A Function on a batch: by its vmap, or its forward and backward under this level."""
    own = of.vmap is not Function.vmap
    if own and of.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {of.__name__}, but it has both generate_vmap_rule=True "
                           "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or "
                           "delete the overridden vmap staticmethod to avoid ambiguity.")
    if of.setup_context is Function.setup_context:
        raise RuntimeError(_NO_CONTEXT)
    if own:
        values = [a.value if level.holds(a) else a for a in args]
        info = VmapInfo(level.size, level.randomness)
        outs, dims = of.vmap(info, tuple(0 if level.holds(a) else None for a in args), *values)
        leaves, tree = flatten(outs)
        return tree.unflatten([o if d is None else wrapper(Batched, o.movedim(d, 0), level)
                           for o, d in zip(leaves, broadcast(dims, tree) or [], strict=True)])
    if not of.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {of.__name__}, but it does not have vmap support. Please "
                           "override and implement the vmap staticmethod or set generate_vmap_rule=True.")
    if "_batched_cls" not in of.__dict__:
        of._batched_cls = type(of._backward_cls.__name__, (of._backward_cls,), {"apply": _apply})
    ctx = of._batched_cls(args)
    ctx.level, ctx.held = level, [level.holds(a) for a in args]
    # All are batched inside, so that all results are.
    return level.inside(of.run, ctx, tuple(level.wrap(level.whole(a)) for a in args), {})


def _apply(ctx: Any, grads: Any) -> Any:
    """Run the user's backward on the gradients of examples; add up those of arguments that have no batch."""
    level, plain = ctx.level, super(type(ctx), ctx).apply
    given = [None if g is None else wrapper(Batched, g, level) for g in grads]
    with nullcontext() if level in state.STACK.modes else level:
        found = plain(given)
    whole = [None if g is None else level.whole(g) for g in found]
    return tuple(g if g is None or held else g.sum(0) for g, held in zip(whole, ctx.held, strict=True))


def jvp(level: Any, of: Any, args: tuple[Any, ...]) -> Any:
    """A Function on dual numbers: forward on the primals, jvp on the tangents."""
    primals = tuple(level.primal(a) for a in args)
    ctx = of._backward_cls(primals)
    if of.setup_context is Function.setup_context:
        if state.wrapped(primals):
            raise RuntimeError(_NO_CONTEXT)
        out = of.run(ctx, primals, {})
    else:
        out = of.apply(*primals)
        of.setup_context(ctx, primals, out)
    tangents = [level.tangent(a) if isinstance(a, Tensor) else None for a in args]
    found = of.jvp(ctx, *tangents)
    return level.join(out, found[0] if isinstance(out, Tensor) and isinstance(found, tuple) else found)
