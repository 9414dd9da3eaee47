"""How a DTensor lies, as one object (torch.distributed.tensor._dtensor_spec)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _Cut

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta"]


class TensorMeta(NamedTuple):
    """What the whole tensor is."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """A mesh, a placement for each of its dims, and what the whole tensor is."""

    mesh: Any
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    def _meta(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta

    @property
    def device_mesh(self) -> Any:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Any:
        """The whole tensor's; ValueError where it is not known."""
        return self._meta().shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The whole tensor's; ValueError where it is not known."""
        return self._meta().stride

    @property
    def ndim(self) -> int:
        """The whole tensor's; ValueError where it is not known."""
        return len(self._meta().shape)

    @property
    def num_shards(self) -> int:
        """In how many parts the tensor is cut."""
        parts = 1
        for number, placement in enumerate(self.placements):
            parts *= self.mesh.size(number) if isinstance(placement, _Cut) else 1
        return parts

    @property
    def dim_map(self) -> list[int]:
        """For each dim of the tensor the dim of the mesh that cuts it, or -1."""
        found = [-1] * self.ndim
        for number, placement in enumerate(self.placements):
            if isinstance(placement, _Cut):
                found[placement.dim] = number
        return found

    @property
    def sums(self) -> list[int]:
        """The dims of the mesh over which terms are yet to be summed."""
        return [number for number, placement in enumerate(self.placements) if placement.is_partial()]

    def is_replicated(self) -> bool:
        """Whether every rank has all."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Whether it is cut."""
        return any(isinstance(placement, _Cut) for placement in self.placements)

    def __str__(self) -> str:
        shape = "unknown shape" if self.tensor_meta is None else tuple(self.shape)
        return f"Spec({''.join(map(str, self.placements))} on {shape})"
