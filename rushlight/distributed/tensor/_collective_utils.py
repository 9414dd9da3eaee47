"""Collectives along a dim of a mesh, and parts made equally long."""

from __future__ import annotations

from typing import Any

import rushlight.distributed as dist
from rushlight import Tensor, nn
from rushlight.distributed import Work
from rushlight.distributed.device_mesh import DeviceMesh


def mesh_scatter(
    output: Tensor,
    scatter_list: list[Tensor],
    mesh: DeviceMesh,
    mesh_dim: int = 0,
    async_op: bool = False,
    *,
    group_src: int = 0,
) -> Work | None:
    """Give each rank of a line of the mesh its tensor of the list that the line's rank `group_src` has."""
    if output.is_meta:
        return None
    group = mesh.get_group(mesh_dim)
    given = scatter_list if dist.get_rank(group) == group_src else None
    work: Work | None = dist.scatter(output, given, group=group, async_op=async_op, group_src=group_src)
    return work


def mesh_broadcast(
    tensor: Tensor, mesh: DeviceMesh, mesh_dim: int = 0, async_op: bool = False, *, group_src: int = 0
) -> Work | None:
    """Give each rank of a line of the mesh what the line's rank `group_src` has."""
    if tensor.is_meta:
        return None
    group = mesh.get_group(mesh_dim)
    work: Work | None = dist.broadcast(tensor, group=group, async_op=async_op, group_src=group_src)
    return work


def pad_tensor(tensor: Tensor, pad_dim: int, pad_size: int) -> Tensor:
    """Zeros behind a dim; the tensor itself where there are to be none."""
    if pad_size == 0:
        return tensor
    found: Tensor = nn.functional.pad(tensor, [0, 0] * (tensor.ndim - pad_dim - 1) + [0, pad_size])
    return found


def unpad_tensor(tensor: Tensor, pad_dim: int, pad_size: int) -> Tensor:
    """The tensor without its last rows along a dim."""
    return tensor if pad_size == 0 else tensor.narrow(pad_dim, 0, tensor.size(pad_dim) - pad_size)


def fill_empty_tensor_to_shards(shards: list[Tensor], shard_dim: int, num_empty_tensors: int) -> list[Tensor]:
    """The list, with empty parts behind the others."""
    size = list(shards[0].shape)
    size[shard_dim] = 0
    shards.extend(shards[0].new_zeros(size) for _ in range(num_empty_tensors))
    return shards


def check_tensor_meta(local_tensor: Tensor, check_shape_stride: bool = False) -> None:
    """ValueError where ranks have tensors of other dtypes; with check_shape_stride also of other sizes and
    strides.
    """
    own: dict[str, Any] = {"dtype": local_tensor.dtype, "requires_grad": local_tensor.requires_grad}
    if check_shape_stride:
        own |= {"shape": local_tensor.shape, "stride": local_tensor.stride()}
    every: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, own)
    if any(one != own for one in every):
        raise ValueError("Inconsistent tensor metadata (including shape and stride) across ranks.")
