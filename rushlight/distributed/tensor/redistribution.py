"""How parts of a tensor become other parts: the collectives between placements, and their gradients.

What autograd knows of a DTensor is the rank's part. The gradient of a part lies as the part does, but that
of a
term (Partial) is needed whole, so it is replicated: `dual`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.communication.heard import FUNCTIONAL, SHARD_TO_SHARD
from rushlight.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    _Cut,
    box,
    exchanged_rows,
    extent,
    gather_rows,
    in_order,
    scattered_rows,
)

_REDUCTIONS = {"sum": "SUM", "avg": "SUM", "max": "MAX", "min": "MIN", "product": "PRODUCT"}


def dual(placement: Placement) -> Placement:
    """How the gradient of a tensor that lies so lies."""
    return Replicate() if placement.is_partial() else placement


def move(
    local: Any, source: Placement, target: Placement, sizes: tuple[int, int], mesh: Any, number: int
) -> Any:
    """A rank's part of a tensor along one dim of a mesh, when it lies as `target` and no longer as `source`.

    sizes: how long the dim that `source` cuts, and that `target` cuts, is over the ranks of that dim of the
    mesh.
    """
    group = mesh.get_group(number)
    if source == target or group.size() == 1:
        return local
    with FUNCTIONAL:
        return _moved_along(local.detach(), source, target, sizes, group)


def _moved_along(local: Any, source: Placement, target: Placement, sizes: tuple[int, int], group: Any) -> Any:
    """The same, within the group of a dim."""
    if isinstance(source, Partial):
        if isinstance(target, _Cut) and source.reduce_op in ("sum", "avg"):
            return scattered_rows(local, target.dim, source.reduce_op, group)
        whole = local.clone(memory_format=torch.contiguous_format)
        if not whole.is_meta:
            dist.all_reduce(whole, getattr(dist.ReduceOp, _REDUCTIONS[source.reduce_op]), group=group)
        whole = whole / group.size() if source.reduce_op == "avg" else whole
    elif isinstance(source, _Cut):
        if isinstance(target, _Cut):
            with SHARD_TO_SHARD:
                return exchanged_rows(local, sizes[0], source.dim, target.dim, group)
        whole = gather_rows(local, sizes[0], source.dim, group)
    else:
        whole = local
    if isinstance(target, Partial):
        return whole / group.size() if target.reduce_op == "sum" else whole
    if isinstance(target, _Cut):
        begin, length = extent(sizes[1], group.size(), group.rank())
        return whole.narrow(target.dim, begin, length).clone(memory_format=torch.contiguous_format)
    return whole


class _Move(torch.autograd.Function):
    """`move`, whose gradient moves back."""

    @staticmethod
    def forward(ctx: Any, local: Any, steps: tuple[Any, ...], back: tuple[Any, ...], dtype: Any) -> Any:
        """steps, back: arguments of `move`, one after another. dtype: what a gradient is sent in."""
        ctx.back, ctx.sent, ctx.dtype = back, dtype or local.dtype, local.dtype
        moved = local
        for step in steps:
            moved = move(moved, *step)
        return moved.view_as(moved) if moved is local else moved

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradient, in the parts that the tensor came in."""
        return moved(grads[0].to(ctx.sent), ctx.back).to(ctx.dtype), None, None, None


def _backward(steps: Sequence[Any]) -> list[Any]:
    """The steps of the gradient of some steps."""
    back: list[Any] = []
    for source, target, sizes, mesh, number in reversed(steps):
        back.append((dual(target), dual(source), sizes[::-1], mesh, number))
    return [step for step in back if step[0] != step[1]]


def moved(local: Any, steps: Sequence[Any], back: Sequence[Any] | None = None, dtype: Any = None) -> Any:
    """A part after some moves, in the graph. `back`: how its gradient moves, if not the other way; `dtype`:
    as
    what, if not the part's.
    """
    back = _backward(steps) if back is None else back
    if not steps and not back:
        return local
    return _Move.apply(local, tuple(steps), tuple(back), dtype)


def route(
    shape: Sequence[int], mesh: Any, source: Sequence[Placement], target: Sequence[Placement]
) -> list[Any]:
    """The moves between two ways to lie; none of a rank outside of the mesh.

    Where several dims of a mesh cut the same dim, the last cut is undone first.
    """
    steps, now = [], list(source)
    if mesh.get_coordinate() is None:
        return []
    undone, done = in_order(source), in_order(target)
    for number in reversed(undone):
        before = _cut_before(number, undone, source, target) | _cut_before(number, done, target, source)
        mine = {p.dim for p in (now[number], target[number]) if isinstance(p, _Cut)}
        if now[number] == target[number] and not mine & before:
            continue
        direct = not mine & before and mesh.ndim == 1
        following = target[number] if direct else Replicate()
        if now[number] != following:
            steps.append(_step(shape, mesh, now, number, following))
        now[number] = following
    for number in done:
        if now[number] != target[number]:
            steps.append(_step(shape, mesh, now, number, target[number]))
            now[number] = target[number]
    return steps


def _cut_before(
    number: int, order: list[int], lying: Sequence[Placement], other: Sequence[Placement]
) -> set[int]:
    """The dims of the tensor that other dims of the mesh cut before this one, and `other` does not."""
    before = order[: order.index(number)]
    return {p.dim for n in before if isinstance(p := lying[n], _Cut) and p != other[n]}


def _step(shape: Any, mesh: Any, now: Sequence[Placement], number: int, following: Placement) -> Any:
    """The arguments of `move` for a step."""
    lying = list(now)
    if isinstance(following, _Cut):
        lying[number] = following
    order = in_order(lying)
    before = order[: order.index(number)]
    first = [lying[n] if n in before else Replicate() for n in range(mesh.ndim)]
    extents = box(shape, mesh, first)[1]
    sizes = tuple(extents[p.dim] if isinstance(p, _Cut) else 0 for p in (now[number], following))
    return now[number], following, sizes, mesh, number


def summed(local: Any, mesh: Any, numbers: Sequence[int]) -> Any:
    """The same values; what the ranks' gradients come to is added up over these dims of the mesh."""
    back = [(Partial(), Replicate(), (0, 0), mesh, number) for number in numbers]
    return moved(local, (), back) if back else local


class _Shared(torch.autograd.Function):
    """A tensor, of whose gradient each of some ranks has an equal share."""

    @staticmethod
    def forward(ctx: Any, local: Any, parts: int) -> Any:
        """parts: how many ranks."""
        ctx.parts = parts
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """This rank's share."""
        return grads[0] / ctx.parts, None


def shared(local: Any, mesh: Any, placements: Sequence[Placement]) -> Any:
    """A part of a result. Where it is one of the terms of a mean, its gradient counts for as much."""
    parts = 1
    for number, placement in enumerate(placements):
        parts *= mesh.size(number) if placement == Partial("avg") else 1
    return _Shared.apply(local, parts) if parts > 1 and local.requires_grad else local
