"""Which rank has which stage; what a tensor is that is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.distributed.tensor.dtensor import DTensor, make


class PipeliningMetadataError(RuntimeError):
    """A stage has made something else than it said."""


@dataclass(frozen=True)
class TensorMeta:
    """What a receiver has to know of a tensor; `lying`: of a DTensor, its mesh, placements and shape."""

    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool
    lying: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, t: Any) -> TensorMeta:
        """A tensor's."""
        lying = (t.device_mesh, t.placements, tuple(t.shape)) if isinstance(t, DTensor) else None
        part = t.to_local() if lying else t
        return cls(tuple(part.shape), t.dtype, t.requires_grad, lying)

    def empty(self, device: Any) -> Any:
        """Memory for the part of this rank."""
        return torch.empty(self.shape, dtype=self.dtype, device=device)

    def filled(self, part: Any) -> Any:
        """The tensor whose part of this rank it is."""
        return part if self.lying is None else make(part, *self.lying)


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
