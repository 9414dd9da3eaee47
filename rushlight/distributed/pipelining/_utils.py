"""Which rank has which stage; what a tensor is that is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import rushlight as torch
from rushlight.distributed.tensor.dtensor import DTensor, make


class PipeliningMetadataError(RuntimeError):
    """A stage has made something else than it said."""


class MeshLayout(NamedTuple):
    """The sizes of a mesh, and how far its ranks lie apart: what meshes of different ranks have in common."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


def mesh_key(mesh: Any) -> tuple[Any, MeshLayout]:
    """(the names of its dims, its layout)."""
    ranks = mesh.mesh
    apart = [
        int(ranks.select(d, 1).reshape(-1)[0] - ranks.reshape(-1)[0]) if ranks.shape[d] > 1 else 0
        for d in range(ranks.ndim)
    ]
    return mesh.mesh_dim_names, MeshLayout(tuple(ranks.shape), tuple(apart))


@dataclass(frozen=True)
class TensorMeta:
    """What a receiver has to know of a tensor.

    Of a DTensor, `mesh`: the key of its mesh, since the receiver's has other ranks; `lying`: its placements
    and shape.
    """

    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool
    mesh: tuple[Any, MeshLayout] | None = None
    lying: tuple[Any, ...] = ()

    @classmethod
    def of(cls, t: Any) -> TensorMeta:
        """A tensor's."""
        if not isinstance(t, DTensor):
            return cls(tuple(t.shape), t.dtype, t.requires_grad)
        lying = t.placements, tuple(t.shape)
        return cls(tuple(t.to_local().shape), t.dtype, t.requires_grad, mesh_key(t.device_mesh), lying)

    def empty(self, device: Any) -> Any:
        """Memory for the part of this rank."""
        return torch.empty(self.shape, dtype=self.dtype, device=device)

    def filled(self, part: Any, mesh: Any) -> Any:
        """The tensor whose part of this rank it is."""
        return part if self.mesh is None else make(part, mesh, *self.lying)


def generate_stage_to_rank_mapping(pp_size: int, num_stages: int, style: str = "loop") -> dict[int, int]:
    """The rank of each stage: round and round ("loop"), or there and back ("v")."""
    if style == "loop":
        return {stage: stage % pp_size for stage in range(num_stages)}
    if style != "v":
        raise ValueError(f"Style {style} is not supported.")
    if num_stages % pp_size:
        raise ValueError(
            f"num_stages {num_stages} must be evenly divisible by pp_size {pp_size} for V schedules"
        )
    found = {}
    for stage in range(num_stages):
        turn, place = divmod(stage, pp_size)
        found[stage] = pp_size - 1 - place if turn % 2 else place
    return found


def generate_rank_to_stage_mapping(
    pp_size: int, num_stages: int, style: str = "loop"
) -> dict[int, list[int]]:
    """The stages of each rank."""
    found: dict[int, list[int]] = {}
    for stage, rank in generate_stage_to_rank_mapping(pp_size, num_stages, style).items():
        found.setdefault(rank, []).append(stage)
    return found
