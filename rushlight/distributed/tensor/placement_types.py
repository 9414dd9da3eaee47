"""How a tensor lies on a dim of a mesh, and what of it a rank holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import rushlight as torch
import rushlight.distributed as dist


class Placement:
    """Base of the three."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank holds a part (along `dim`)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each rank holds all."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether the ranks' tensors are yet to be summed."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class _Cut(Placement):
    """Each rank holds a chunk along `dim`, as torch.chunk cuts it; the last ones may be short or empty."""

    dim: int


@dataclass(frozen=True)
class Shard(_Cut):
    """Each rank holds a chunk along `dim`; where several dims of a mesh cut it, the first one cuts first."""

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """(rows of chunk number `rank` of `curr_local_size` rows in `num_chunks` chunks, where it begins)."""
        begin, length = extent(curr_local_size, num_chunks, rank)
        return length, begin

    def _split_tensor(
        self, tensor: Any, num_chunks: int, *, with_padding: bool = True, contiguous: bool = True
    ) -> tuple[list[Any], list[int]]:
        """A tensor's chunks, and by how many rows each was made longer, to be as long as the first."""
        extents = [extent(tensor.shape[self.dim], num_chunks, place) for place in range(num_chunks)]
        chunks = [tensor.narrow(self.dim, *each) for each in extents]
        chunks = [chunk.contiguous() for chunk in chunks] if contiguous else chunks
        if not with_padding:
            return chunks, []
        missing = [extents[0][1] - length for _, length in extents]
        return [_longer(c, self.dim, rows) for c, rows in zip(chunks, missing, strict=True)], missing

    def _local_shard_size_and_offset(self, size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return self.local_shard_size_and_offset(size, num_chunks, rank)


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank holds the whole tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank holds a term; `reduce_op`: "sum", "avg", "max", "min" or "product"."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def _longer(chunk: Any, dim: int, rows: int) -> Any:
    """A chunk with rows of zeros behind it."""
    if not rows:
        return chunk
    shape = list(chunk.shape)
    shape[dim] = rows
    return torch.cat([chunk, chunk.new_zeros(shape)], dim)


def extent(size: int, parts: int, place: int) -> tuple[int, int]:
    """(begin, length) of chunk number `place` of `size` rows in `parts` chunks."""
    step = -(-size // parts)
    begin = min(step * place, size)
    return begin, min(step, size - begin)


def normalized(placements: Any, ndim: int) -> tuple[Placement, ...]:
    """Placements whose cut dims are counted from the front."""
    return tuple(replace(p, dim=p.dim + ndim) if isinstance(p, _Cut) and p.dim < 0 else p for p in placements)


def in_order(placements: Sequence[Placement]) -> list[int]:
    """The dims of a mesh in the order in which they cut: those of _StridedShard last, and backwards."""
    late = [number for number, p in enumerate(placements) if isinstance(p, _StridedShard)]
    return [number for number in range(len(placements)) if number not in late] + late[::-1]


def box(shape: Any, mesh: Any, placements: Any) -> tuple[list[int], list[int]]:
    """(offsets, sizes) of what this rank holds of a tensor of `shape`: outside of the mesh nothing, of one
    dim.
    """
    offsets, sizes = [0] * len(shape), list(shape)
    if mesh.get_coordinate() is None:
        return [], [0]
    for number in in_order(placements):
        placement = placements[number]
        if isinstance(placement, _Cut):
            d = placement.dim
            begin, sizes[d] = extent(sizes[d], mesh.size(number), mesh.get_local_rank(number))
            offsets[d] += begin
    return offsets, sizes


def gather_rows(local: Any, size: int, dim: int, group: Any) -> Any:
    """The whole tensor, `size` long in `dim`, of the ranks' chunks."""
    world = group.size()
    step = -(-size // world)
    rows = local.movedim(dim, 0)
    buffer = rows.new_zeros((step, *rows.shape[1:]))
    buffer[: rows.shape[0]].copy_(rows)
    out = rows.new_empty((world * step, *rows.shape[1:]))
    if not out.is_meta:
        dist.all_gather_into_tensor(out, buffer, group=group)
    return out[:size].movedim(0, dim).contiguous()


def scattered_rows(term: Any, dim: int, reduction: str, group: Any) -> Any:
    """This rank's chunk along `dim` of the sum, or mean ("avg"), of the ranks' tensors."""
    world, size = group.size(), term.shape[dim]
    step = -(-size // world)
    rows = term.movedim(dim, 0)
    padded = rows.new_zeros((world * step, *rows.shape[1:]))
    padded[:size].copy_(rows)
    out = rows.new_empty((step, *rows.shape[1:]))
    if not out.is_meta:
        dist.reduce_scatter_tensor(out, padded, group=group)
    length = extent(size, world, group.rank())[1]
    own = out[:length].movedim(0, dim).contiguous()
    return own / world if reduction == "avg" else own


def exchanged_rows(local: Any, size: int, source: int, target: int, group: Any) -> Any:
    """This rank's chunk along `target` of a tensor of which it has the chunk along `source`, `size` long in
    all.
    """
    world, long = group.size(), local.shape[target]
    pieces = [local.narrow(target, *extent(long, world, rank)).contiguous() for rank in range(world)]
    shape = list(local.shape)
    shape[target] = extent(long, world, group.rank())[1]
    found = []
    for rank in range(world):
        shape[source] = extent(size, world, rank)[1]
        found.append(local.new_empty(shape))
    if not local.is_meta:
        dist.all_to_all(found, pieces, group=group)
    return torch.cat(found, source)


def narrowed(whole: Any, mesh: Any, placements: Any) -> Any:
    """This rank's part of a tensor that it has whole, as a view."""
    offsets, sizes = box(whole.shape, mesh, placements)
    if mesh.get_coordinate() is None:
        return whole.new_empty(sizes)
    for d, (begin, length) in enumerate(zip(offsets, sizes, strict=True)):
        whole = whole.narrow(d, begin, length)
    return whole


def local_part(whole: Any, mesh: Any, placements: Any) -> Any:
    """This rank's part of a tensor that it has whole, in memory of its own."""
    return narrowed(whole, mesh, placements).clone(memory_format=torch.contiguous_format)


_Partial = Partial  # its older name


@dataclass(frozen=True)
class _StridedShard(_Cut):
    """A chunk along `dim` of what the mesh's later dims have cut before, in `split_factor` parts.

    fully_shard makes these of parameters that tensor parallelism has cut along the same dim.
    """

    _: KW_ONLY
    split_factor: int

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"
