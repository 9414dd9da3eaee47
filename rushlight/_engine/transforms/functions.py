"""Custom autograd Functions under vmap and in forward mode."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from rushlight._engine.autograd.function import Function, run
from rushlight._engine.autograd.grad_mode import Transformed
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.core.pytree import broadcast, flatten
from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.transforms.batching import Batched
from rushlight._engine.transforms.levels import wrapper

_NO_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
    "...), it must override the setup_context staticmethod."
)


class VmapInfo(NamedTuple):
    """What Function.vmap gets to know."""

    batch_size: int
    randomness: str


def vmap(level: Any, of: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A Function on a batch: by its vmap, or its forward and backward under this level."""
    if any(isinstance(v, Tensor) for v in flatten(named)[0]):
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only "
            f"Tensors to autograd.Function. Got: {named}"
        )
    own = of.vmap is not Function.vmap
    if own and of.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {of.__name__}, but it has both generate_vmap_rule=True "
            "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or "
            "delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if of.setup_context is Function.setup_context:
        raise RuntimeError(_NO_CONTEXT)
    if own:
        leaves, tree = flatten(tuple(args))
        placed = [level.placed(leaf) for leaf in leaves]
        values, dims = (tree.unflatten(part) for part in zip(*placed, strict=True))
        info = VmapInfo(level.size, level.randomness)
        with Transformed(-1):
            found = of.vmap(info, dims, *values, **named)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(
                f"Expected the vmap staticmethod to have two returns, an output and out_dims with pytree "
                f"structure compatible with the output. Got a {type(found).__name__}"
            )
        leaves, tree = flatten(found[0])
        dims = broadcast(found[1], tree)
        if dims is None or len(dims) != len(leaves):
            raise RuntimeError(
                f"The vmap staticmethod for {of.__name__} returned an incompatible (output, out_dims) tuple. "
                f"Expected out_dims={found[1]} to be compatible with the structure of `output`. out_dims has "
                f"structure {flatten(found[1])[1]} but output has structure {tree}."
            )
        return tree.unflatten(
            [
                o if d is None else wrapper(Batched, o.movedim(d, 0), level)
                for o, d in zip(leaves, dims, strict=True)
            ]
        )
    if not of.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {of.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    if "_batched_cls" not in of.__dict__:
        of._batched_cls = type(
            of._node_cls.__name__, (of._node_cls,), {"__slots__": ("level", "held"), "apply": _apply}
        )
    ctx = of._batched_cls(args)
    ctx.level, ctx.held = level, [level.holds(a) for a in args]
    # All are batched inside, so that all results are.
    return level.inside(run, of, ctx, tuple(level.wrap(level.whole(a)) for a in args), named)


def _apply(ctx: Any, grads: Any) -> Any:
    """Run the user's backward on the gradients of examples; add up those of arguments that have no batch."""
    level, plain = ctx.level, super(type(ctx), ctx).apply
    given = [None if g is None else wrapper(Batched, g, level) for g in grads]
    with nullcontext() if level in interpreters.STACK.modes else level:
        found = plain(given)
    whole = [None if g is None else level.whole(g) for g in found]
    return tuple(g if g is None or held else g.sum(0) for g, held in zip(whole, ctx.held, strict=True))


def jvp(level: Any, of: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A Function on dual numbers: forward on the primals, jvp on the tangents."""
    primals = tuple(level.primal(a) for a in args)
    node = of._node_cls(primals)
    if of.setup_context is Function.setup_context:
        if interpreters.wrapped(primals):
            raise RuntimeError(_NO_CONTEXT)
        out = run(of, node, primals, named)
    else:
        out = of.apply(*primals, **named)
        of.setup_context(node.settle(), primals, out)
    tangents = [
        level.tangent(a) if isinstance(a, Tensor) and a._kind.dtype.category >= FLOATING else None
        for a in args
    ]
    versions = [None if t is None else t._version for t in tangents]
    node.forward = bool(node.for_forward) or of.setup_context is Function.setup_context
    try:
        found = of.jvp(node.settle(), *tangents)
    finally:
        node.forward = False
    if isinstance(out, Tensor):
        only = found[0] if isinstance(found, tuple) else found
        return _joined(level, node, 0, out, only, args, (tangents, versions))
    if not isinstance(found, (tuple, list)):
        found = (found,)
    return type(out)(
        [
            _joined(level, node, i, o, t, args, (tangents, versions))
            for i, (o, t) in enumerate(zip(out, found, strict=True))
        ]
    )


def _joined(
    level: Any,
    node: Any,
    number: int,
    out: Any,
    tangent: Any,
    args: tuple[Any, ...],
    given: tuple[list[Any], list[Any]],
) -> Any:
    """One result with its tangent, which lies in memory as the result does: in place, a view, or neither."""
    if not isinstance(out, Tensor):
        return out
    if any(out is t for t in node.silent) or out._kind.dtype.category < FLOATING:
        if tangent is not None:
            raise RuntimeError(
                f"The jvp of a custom Function returned a forward gradient for its output {number}, which is "
                "not differentiable. You should return None at that position instead."
            )
        return out
    tangents, versions = given
    for a, t, version in zip(args, tangents, versions, strict=True):
        if level.holds(a) and a.value is out:
            if tangent is not t or t._version == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
                    "forward is modifying an input inplace, then the jvp function must modify the "
                    "corresponding gradient inplace."
                )
            return a
    if out._is_view() and tangent is not None:
        _check_view(level, out, tangent, args, tangents)
    return level.join(out, tangent)


def _check_view(level: Any, out: Tensor, tangent: Any, args: tuple[Any, ...], tangents: list[Any]) -> None:
    for a, t in zip(args, tangents, strict=True):
        if not level.holds(a) or not (out._base is a.value or out._base is a.value._base):
            continue
        if tangent._base is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the "
                "jvp is not returning a view."
            )
        if t._base is not None:
            if tangent._base is not t._base:
                raise RuntimeError(
                    "A custom Function is returning a view but the jvp is not returning a "
                    "view of the same base as the given grad input."
                )
        elif tangent._base is not t:
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of "
                "the given grad input."
            )
