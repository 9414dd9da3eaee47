"""Device meshes: the ranks as an array, with a process group for each line along each of its dims."""

from __future__ import annotations

from typing import Any

import numpy as np

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.groups import default_group, world


class DeviceMesh:
    """Ranks in an array of any number of dims; the calling rank is in one line of each dim.

    `mesh`: the ranks, nested lists or a tensor. Making one is collective: all ranks of the world make it, in
    the same order. KeyError for a dim's name that is not there.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
        _init_backend: bool = True,
        _root_mesh: DeviceMesh | None = None,
    ) -> None:
        self.device_type = device_type
        self._root_mesh = _root_mesh
        self._flattened: dict[str, tuple[list[int], DeviceMesh]] = {}  # of a root: (its dims, the mesh)
        self.mesh = torch.as_tensor(mesh, dtype=torch.int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if not dist.is_initialized() and _init_backend:
            dist.init_process_group()
        if dist.is_initialized() and self.mesh.numel() > dist.get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {dist.get_world_size()}, "
                f"but found {self.mesh.numel()} ranks!"
            )
        own = dist.get_rank() if dist.is_initialized() else -1
        place = (self.mesh == own).nonzero().tolist()
        self._coordinate = place[0] if place else None
        self._groups = _groups or (self._make_groups() if _init_backend else [])

    def __enter__(self) -> DeviceMesh:
        """Within it, the mesh of those who name none."""
        _ENTERED.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _ENTERED.pop()

    def __reduce__(self) -> Any:
        names = [group.group_name for group in self._groups]
        return _rebuilt, (self.device_type, self.mesh.tolist(), self.mesh_dim_names, names)

    def _make_groups(self) -> list[Any]:
        ranks, groups = self.mesh.numpy(), []
        if ranks.ndim == 1 and ranks.size == dist.get_world_size():
            return [default_group()]
        for dim in range(ranks.ndim):
            for line in np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]):
                group = dist.new_group(line.tolist())
                if dist.get_rank() in line:
                    groups.append(group)
        return groups

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Any = None
    ) -> DeviceMesh:
        """The mesh of one group, or of a list of groups, one for each dim of `mesh`."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        mesh = dist.get_process_group_ranks(groups[0]) if mesh is None else mesh
        return cls(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return int(self.mesh.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dim."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, in all or along a dim."""
        return int(self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim))

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg "
                    "`mesh_dim` needs to be specified when device_mesh.ndim > 1."
                )
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        names = self.mesh_dim_names or ()
        if mesh_dim not in names:
            raise KeyError(
                f"Invalid mesh_dim_name {mesh_dim!r} specified. Valid mesh_dim_names are "
                f"{self.mesh_dim_names}."
            )
        return names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The process group of this rank's line along a dim."""
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups of all dims."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This rank's number in the world."""
        return dist.get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dim."""
        return dist.get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """This rank's place in the mesh; None if it is not in it."""
        return self._coordinate

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (names,) if isinstance(names, str) else tuple(names)
        if names == self.mesh_dim_names:
            return self
        if len(set(names)) < len(names):
            raise RuntimeError(f"Slicing overlapping dim_names {names} is not allowed.")
        root = self._get_root_mesh()
        parts: list[tuple[list[int], Any]] = []  # for each name, dims and the group
        for name in names:
            if name in root._flattened and name not in self.mesh_dim_names:
                dims, flat = root._flattened[name]
                parts.append((dims, flat._groups[0]))
            else:
                number = self._dim(name)
                parts.append((root._dims_of(self, number), self._groups[number]))
        return root._slice(parts, names)

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh that this one is a part of, or itself."""
        return self._root_mesh or self

    def _dims_of(self, part: DeviceMesh, number: int) -> list[int]:
        """The dims of this mesh that a dim of a part of it is made of."""
        if part is self:
            return [number]
        name = (part.mesh_dim_names or ())[number]
        return self._flattened[name][0] if name in self._flattened else [self._dim(name)]

    def _slice(self, parts: list[tuple[list[int], Any]], names: tuple[str, ...]) -> DeviceMesh:
        """The mesh of this rank along some dims: each one or several of this mesh's, with a group."""
        dims = [d for those, _ in parts for d in those]
        rest = [d for d in range(self.ndim) if d not in dims]
        place = self._coordinate or [0] * self.ndim
        ranks = self.mesh.numpy().transpose(rest + dims)[tuple(place[d] for d in rest)]
        shape = [int(np.prod([self.mesh.size(d) for d in those])) for those, _ in parts]
        return DeviceMesh(
            self.device_type,
            ranks.reshape(shape),
            mesh_dim_names=names,
            _groups=[group for _, group in parts],
            _root_mesh=self,
        )

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The ranks of this mesh in one dim, which the mesh that it is a part of then has by this name.

        Collective: all ranks of that mesh call it.
        """
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        if self.ndim == 1 and name in self.mesh_dim_names:
            return self
        root = self._get_root_mesh()
        dims = [d for number in range(self.ndim) for d in root._dims_of(self, number)]
        if name in (root.mesh_dim_names or ()) or root._flattened.get(name, (dims,))[0] != dims:
            raise ValueError(
                f"Flatten mesh with mesh_dim_name {name} has been created before, "
                "Please specify another valid mesh_dim_name."
            )
        if name not in root._flattened:
            rest = [d for d in range(root.ndim) if d not in dims]
            lines = root.mesh.numpy().transpose(rest + dims).reshape(-1, self.size())
            made = [dist.new_group(line.tolist()) for line in lines]
            own = next((g for g, line in zip(made, lines, strict=True) if dist.get_rank() in line), made[0])
            root._flattened[name] = dims, root._slice([(dims, own)], (name,))
        return root._flattened[name][1]

    @staticmethod
    def _concatenate(device_mesh_list: list[DeviceMesh]) -> DeviceMesh:
        """The mesh of all dims of some parts of one mesh, whose dims have names."""
        root = device_mesh_list[0]._get_root_mesh()
        if any(mesh._get_root_mesh() != root for mesh in device_mesh_list):
            return _beside_each_other(device_mesh_list, root.mesh.numpy().reshape(-1))
        parts: list[tuple[list[int], Any]] = []
        names: list[str] = []
        for mesh in device_mesh_list:
            names += mesh.mesh_dim_names or ()
            parts += [(root._dims_of(mesh, n), mesh._groups[n]) for n in range(mesh.ndim)]
        dims = [d for those, _ in parts for d in those]
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {device_mesh_list}")
        return root if tuple(names) == root.mesh_dim_names else root._slice(parts, tuple(names))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and (self.mesh_dim_names == other.mesh_dim_names and self.mesh.tolist() == other.mesh.tolist())
        )

    def __hash__(self) -> int:
        ranks = tuple(self.mesh.flatten().tolist())
        return hash((self.device_type, self.mesh_dim_names, self.shape, ranks))

    def __repr__(self) -> str:
        shape = str(self.shape)
        if self.mesh_dim_names is not None:
            shape = f"({', '.join(f'{name}={size}' for name, size in zip(self.mesh_dim_names, self.shape))})"
        return f"DeviceMesh({shape}, '{self.device_type}', stride={tuple(self.mesh.stride())})"


def _beside_each_other(meshes: list[DeviceMesh], ranks: Any) -> DeviceMesh:
    """The mesh of all dims of meshes that were made on their own, of the same ranks."""
    roots = [mesh._get_root_mesh().mesh.numpy().reshape(-1) for mesh in meshes]
    if any(not np.array_equal(np.sort(found), np.sort(ranks)) for found in roots):
        raise RuntimeError("Cannot concatenate DeviceMeshes derived from different device meshs")
    place = {int(rank): number for number, rank in enumerate(ranks)}
    mine = place[dist.get_rank()]
    places: Any = np.array(mine)
    for mesh in meshes:
        steps = np.vectorize(place.__getitem__)(mesh.mesh.numpy()) - mine
        places = np.add.outer(places, steps)
    if len(set(places.flat)) < places.size or not 0 <= places.min() <= places.max() < len(ranks):
        raise RuntimeError(f"Cannot concatenate overlapping meshes: {meshes}")
    names = [name for mesh in meshes for name in mesh.mesh_dim_names or ()]
    return DeviceMesh(
        meshes[0].device_type,
        ranks[places],
        mesh_dim_names=tuple(names) if len(names) == places.ndim else None,
        _groups=[group for mesh in meshes for group in mesh._groups],
    )


def _rebuilt(device_type: str, ranks: Any, names: Any, groups: list[str]) -> DeviceMesh:
    """A mesh of a file, with the groups of these names; where they are not there, with new ones."""
    if not dist.is_initialized():
        raise RuntimeError("a DeviceMesh is read where there is no process group: call init_process_group()")
    known = [world.groups.get(name) for name in groups]
    return DeviceMesh(device_type, ranks, mesh_dim_names=names, _groups=None if None in known else known)


_ENTERED: list[DeviceMesh] = []


def current_mesh() -> DeviceMesh:
    """The mesh whose context was entered last; RuntimeError if there is none."""
    if not _ENTERED:
        raise RuntimeError("No device mesh is currently active!")
    return _ENTERED[-1]


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in an array of `mesh_shape`. RuntimeError where names and shape, or ranks and shape, do not
    fit.
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(
            f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in {mesh_dim_names}"
        )
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
        )
    ranks = torch.arange(int(np.prod(mesh_shape)), dtype=torch.int32).view(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
