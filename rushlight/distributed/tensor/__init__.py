"""Tensors of which each rank holds a part (torch.distributed.tensor)."""

from rushlight.distributed import device_mesh
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor import dtensor
from rushlight.distributed.tensor.dtensor import DTensor, distribute_tensor
from rushlight.distributed.tensor.factories import distribute_module, empty, full, ones, rand, randn, zeros
from rushlight.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard
from rushlight.serialization import add_safe_globals

add_safe_globals(
    [DTensor, DeviceMesh, Partial, Replicate, Shard, _StridedShard, dtensor._rebuilt, device_mesh._rebuilt]
)

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]
