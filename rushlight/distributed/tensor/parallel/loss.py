"""loss_parallel: a cross entropy whose classes are shared out over ranks; no rank ever has all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight.distributed as dist
from rushlight._engine.ops.nn.losses import reduction_of
from rushlight.distributed.tensor.dtensor import TAKEN_OVER, DTensor, make
from rushlight.distributed.tensor.placement_types import Partial, Replicate, Shard, box, narrowed
from rushlight.distributed.tensor.redistribution import moved, route

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Within it, torch.nn.functional.cross_entropy takes logits that are a DTensor cut along the classes, and
    indices of classes that each rank has. backward() belongs within it, too.
    """
    before = TAKEN_OVER.get("cross_entropy")
    TAKEN_OVER["cross_entropy"] = cross_entropy
    try:
        yield
    finally:
        del TAKEN_OVER["cross_entropy"]
        if before is not None:
            TAKEN_OVER["cross_entropy"] = before


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of logits (N, C, ...) that are cut along C, with classes (N, ...); the loss is
    replicated.

    weight: one number a class, on all ranks. size_average, reduce: older words for reduction. Raises
    ValueError where the logits are not cut along C.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    dim = 1 if input.ndim >= 2 else 0
    mesh, cuts = input._mesh, [n for n, p in enumerate(input._placements) if p == Shard(dim)]
    if len(cuts) != 1:
        raise ValueError(
            f"loss_parallel() should be enabled only when the input tensor is sharded on the class "
            f"dimension; got "
            f"placements {input._placements}"
        )
    if label_smoothing:
        raise NotImplementedError("loss_parallel: label_smoothing is not supported; leave it at 0.0")
    if weight is not None:
        weight = weight.full_tensor() if isinstance(weight, DTensor) else weight
    kept = [Replicate() if n == cuts[0] else p for n, p in enumerate(input._placements)]
    below = [Shard(p.dim - 1) if isinstance(p, Shard) and p.dim > dim else p for p in kept]
    lies = isinstance(target, DTensor)
    where = target.redistribute(mesh, below).to_local() if lies else narrowed(target, mesh, below)
    losses, counted = _losses(input, where, dim, cuts[0], weight, ignore_index)
    shape = target.shape
    if reduction == "none":
        return make(losses, mesh, below, shape)
    terms = [Partial() if p.is_shard() else p for p in below]
    total, count = (
        moved(v, route((), mesh, terms, [Replicate()] * mesh.ndim)) for v in (losses.sum(), counted.sum())
    )
    return make(total if reduction == "sum" else total / count, mesh, [Replicate()] * mesh.ndim, ())


def _losses(input: Any, target: Any, dim: int, number: int, weight: Any, ignored: int) -> tuple[Any, Any]:
    """Each element's loss, and how much it counts, on this rank."""
    mesh, logits = input._mesh, input.to_local()
    group = mesh.get_group(number)
    offsets, _ = box(input._whole, mesh, input._placements)
    most = logits.detach().amax(dim, keepdim=True)
    dist.all_reduce(most, dist.ReduceOp.MAX, group=group)
    shifted = logits - most
    together = [(Partial(), Replicate(), (0, 0), mesh, number)]
    log_sum = moved(shifted.exp().sum(dim), together).log()
    counts = target != ignored
    place = target - offsets[dim]
    mine = counts & (place >= 0) & (place < logits.shape[dim])
    picked = shifted.gather(dim, place.where(mine, 0).unsqueeze(dim)).squeeze(dim).where(mine, 0)
    losses = (log_sum - moved(picked, together)).where(counts, 0)
    scale = counts.to(logits.dtype)
    if weight is not None:
        scale = scale * weight[target.where(counts, 0)]
    return losses * scale, scale
