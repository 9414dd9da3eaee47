"""DTensor: one tensor of which each rank holds a part.

Its memory is the rank's part, so optimizers and casts work on it as it is; shape, size() and stride() are the
whole's. Ops that work element by element run on the parts; norms and sums are added up over the ranks; all
others gather the tensor first, and their result is on all ranks.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.autograd import hooks
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.core.size import Size
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, alias
from rushlight.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    box,
    gather_rows,
    local_part,
)

# Ops besides the pointwise ones that each rank does on its part.
_LOCAL = frozenset(
    (
        "clone",
        "to",
        "float",
        "double",
        "half",
        "bfloat16",
        "contiguous",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "copy_",
        "zero_",
        "fill_",
        "cpu",
        "type",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "element_size",
        "type_as",
        "is_contiguous",
        "dim",
    )
)
_NORMS = frozenset(("vector_norm", "norm", "linalg_vector_norm", "sum"))


class DTensor(Tensor):
    """Made by from_local, distribute_tensor, fully_shard. `device_mesh`, `placements`: where its parts
    lie.
    """

    _mesh: Any
    _placements: tuple[Placement, ...]
    _whole: tuple[int, ...]

    @staticmethod
    def from_local(
        local_tensor: Any,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> DTensor:
        """The tensor of which `local_tensor` is this rank's part; without `shape`, parts are of equal
        size.
        """
        placements = _complete(device_mesh, placements, replicate=True)
        if shape is None:
            shape = list(local_tensor.shape)
            for number, placement in enumerate(placements):
                if isinstance(placement, Shard):
                    shape[placement.dim] *= device_mesh.size(number)
        return make(local_tensor, device_mesh, placements, shape)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})

    # --- parts and the whole ----------------------------------------------------------------------

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part, in the same memory and at the same place in the graph."""
        return alias(self, self._grad_node, self._output_nr)

    @property
    def _local_tensor(self) -> Any:
        return alias(self)

    @property
    def device_mesh(self) -> Any:
        """The mesh of processes that its parts lie on."""
        return self._mesh

    @property
    def placements(self) -> Any:
        """A placement (Shard, Replicate, Partial) for each dim of the mesh."""
        return self._placements

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on every rank; collective, and not differentiable."""
        found = alias(self)
        for number in reversed(range(self._mesh.ndim)):
            placement, group = self._placements[number], self._mesh.get_group(number)
            if isinstance(placement, Partial):
                found = found.clone()
                dist.all_reduce(found, group=group)
                found = found / group.size() if placement.reduce_op == "avg" else found
            elif isinstance(placement, Shard):
                # The size that the chunks of this dim of the mesh make up.
                size = box(
                    self._whole,
                    self._mesh,
                    [*self._placements[:number], *[Replicate()] * (self._mesh.ndim - number)],
                )[1][placement.dim]
                found = gather_rows(found, size, placement.dim, group)
        return found.clone() if found._array is self._array else found

    def redistribute(
        self, device_mesh: Any = None, placements: Any = None, *, async_op: bool = False
    ) -> DTensor:
        """The same tensor in other parts."""
        mesh = device_mesh or self._mesh
        placements = _complete(mesh, placements)
        return make(local_part(self.full_tensor(), mesh, placements), mesh, placements, self._whole)

    # --- what is asked of a tensor without an op --------------------------------------------------

    @property
    def shape(self) -> Size:
        """The whole tensor's shape; that of the part here is `to_local().shape`."""
        return Size(self._whole)

    def size(self, dim: int | None = None) -> Any:
        """Of the whole."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """Of the whole."""
        return self.shape.numel()

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Of the whole, row by row."""
        steps = torch.empty(self._whole, device="meta").stride()
        return steps if dim is None else steps[dim]

    def __len__(self) -> int:
        return self._whole[0]

    def detach(self) -> DTensor:
        """The same parts outside the graph."""
        return make(alias(self), self._mesh, self._placements, self._whole)

    @property
    def data(self) -> Any:
        """The same parts, written to behind autograd's back."""
        read = getattr(Tensor.data, "fget")
        return make(read(alias(self)), self._mesh, self._placements, self._whole)

    @data.setter
    def data(self, value: Any) -> None:
        getattr(Tensor.data, "fset")(self, value)
        if isinstance(value, DTensor):
            self._mesh, self._placements, self._whole = value._mesh, value._placements, value._whole

    @property
    def grad(self) -> Any:
        """The gradient, in the same parts."""
        found = getattr(Tensor.grad, "fget")(self)
        return found if found is None or isinstance(found, DTensor) else self._state(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        getattr(Tensor.grad, "fset")(self, value)

    def _state(self, local: Tensor) -> DTensor:
        """An optimizer's state of this parameter."""
        return make(local, self._mesh, self._placements, self._whole)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = self._state(alias(self).clone()).requires_grad_(self.requires_grad)
            if hasattr(self, "_is_param"):
                setattr(copied, "_is_param", True)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(
            "a DTensor's part is written by torch.distributed.checkpoint; for "
            "torch.save call full_tensor() or to_local() first"
        )

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={alias(self)!r}, device_mesh={self._mesh}, placements={self._placements})"
        )


def make(local: Tensor, mesh: Any, placements: Any, shape: Any) -> DTensor:
    """A DTensor around this rank's part."""
    shown: Any = alias(local, local._grad_node, local._output_nr, DTensor)
    made: DTensor = shown
    made._mesh, made._placements, made._whole = mesh, tuple(placements), tuple(shape)
    return made


def _complete(mesh: Any, placements: Any, replicate: bool = False) -> tuple[Placement, ...]:
    if placements is None:
        return tuple(Replicate() if replicate or n else Shard(0) for n in range(mesh.ndim))
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(placements)


def distribute_tensor(
    tensor: Tensor, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """`tensor` in parts (default: rows along the first dim of the mesh), of rank `src_data_rank`'s values.

    None: each rank takes its part of its own values.
    """
    if isinstance(tensor, DTensor):
        raise ValueError(
            "distribute_tensor: expected a torch.Tensor, got a DTensor; call redistribute() on it"
        )
    placements = _complete(device_mesh, placements, replicate=True)
    whole = tensor.detach()
    if src_data_rank is not None:
        whole = whole.clone()
        for number in range(device_mesh.ndim):
            group = device_mesh.get_group(number)
            dist.broadcast(whole, dist.get_global_rank(group, src_data_rank), group=group)
    made = make(local_part(whole, device_mesh, placements), device_mesh, placements, tensor.shape)
    made.requires_grad_(tensor.requires_grad)
    return made


# --- ops --------------------------------------------------------------------------------------------


def _pointwise(name: str) -> bool:
    row = ROWS.get(name) or ROWS.get(name.rstrip("_"))
    return name in _LOCAL or (row is not None and row.kind == "pointwise")


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """func(*args, **kwargs), of which some are DTensors."""
    name = getattr(func, "__name__", "")
    given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    # The first of the largest number of dims: numbers that all ranks have go with any tensor.
    first = max((t for t in given if isinstance(t, DTensor)), key=lambda t: t.ndim)
    adds_gradient = name == "add_" and hooks._runs.stack  # what backward brings is a part
    if any(not isinstance(t, DTensor) and t.ndim for t in given) and not adds_gradient:
        raise RuntimeError(
            f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
            "DTensor before calling distributed operators! Please see "
            "https://docs.pytorch.org/docs/main/"
            "distributed.tensor.html#mixed-tensor-and-dtensor-operations for more details."
        )
    lies = first._mesh, first._placements, first._whole
    alike = all(
        (t._mesh, t._placements, t._whole) == lies for t in given if isinstance(t, DTensor) and t._whole
    )
    if alike and not any(p.is_partial() for p in first._placements) and _pointwise(name):
        return _by_parts(func, args, kwargs, first)
    if torch.is_grad_enabled() and any(t.requires_grad for t in given):
        raise NotImplementedError(
            f"torch.{name} of a DTensor that requires grad: only ops that work element by element are "
            "differentiable on DTensors; use to_local(), or torch.no_grad()"
        )
    if name in _NORMS and len(given) == 1 and len(args) <= 1 + (name != "sum") and kwargs.get("dim") is None:
        return _norm(func, first, args, kwargs)
    result = func(*tree_map(_whole, args), **tree_map(_whole, kwargs))
    if name.endswith("_") and not name.endswith("__"):
        part = local_part(_whole(result), first._mesh, first._placements)
        return (*args, kwargs.get("input"))[0].copy_(make(part, *lies))
    everywhere = [Replicate()] * first._mesh.ndim
    return tree_map(
        lambda v: make(v, first._mesh, everywhere, v.shape) if isinstance(v, Tensor) else v, result
    )


def _whole(value: Any) -> Any:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _part(value: Any) -> Any:
    return value.to_local() if isinstance(value, DTensor) else value


def _by_parts(func: Any, args: Any, kwargs: dict[str, Any], like: DTensor) -> Any:
    """The op on each rank's parts; a result of a part's shape is a DTensor again."""
    result = func(*tree_map(_part, args), **tree_map(_part, kwargs))
    if func.__name__.endswith("_") and isinstance(target := (*args, kwargs.get("input"))[0], DTensor):
        target._grad_node, target._output_nr = result._grad_node, result._output_nr
        return target
    return tree_map(
        lambda v: (
            make(v, like._mesh, like._placements, like._whole)
            if isinstance(v, Tensor) and v._geometry.shape == like._geometry.shape
            else v
        ),
        result,
    )


def _norm(func: Any, t: DTensor, args: Any, kwargs: dict[str, Any]) -> DTensor:
    """A norm or the sum of all elements: of the parts, then of the parts' results."""
    options = {"ord": 2, "p": 2, **kwargs, **dict(zip(("input", "ord"), args))}
    given = options["ord"] if options["ord"] != 2 else options["p"]
    order = 1.0 if func.__name__ == "sum" else 2.0 if given in ("fro", None) else float(given)
    plain, extreme = order in (0.0, 1.0, float("inf")), order == float("inf")
    found = (
        torch.zeros((), dtype=t.dtype)
        if extreme and not t._geometry.size
        else func(*tree_map(_part, args), **tree_map(_part, kwargs))
    )
    found = found if plain else found**order
    for number, placement in enumerate(t._placements):
        if isinstance(placement, Shard):
            dist.all_reduce(
                found, dist.ReduceOp.MAX if extreme else dist.ReduceOp.SUM, group=t._mesh.get_group(number)
            )
    found = found if plain else found ** (1 / order)
    return make(found, t._mesh, [Replicate()] * t._mesh.ndim, found.shape)
