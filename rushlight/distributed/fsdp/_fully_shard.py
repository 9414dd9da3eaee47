"""fully_shard: a module's parameters become DTensors, and are whole while the module computes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from math import prod
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.fsdp.api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from rushlight.distributed.fsdp.layouts import Rows
from rushlight.distributed.fsdp.schedule import Managed
from rushlight.distributed.fsdp.unit import Unit, reduce_all
from rushlight.distributed.tensor.dtensor import DTensor, make
from rushlight.distributed.tensor.placement_types import Replicate, Shard, _StridedShard
from rushlight.nn.parameter import Parameter

__path__: list[str] = []  # modules below it: names/placeholders.tsv


def managed(module: Any) -> Managed | None:
    """What fully_shard knows of a module."""
    found = module.__dict__.get("_fsdp_managed")
    return found if isinstance(found, Managed) else None


class UnshardHandle:
    """Of unshard(async_op=True)."""

    def __init__(self, unit: Unit | None) -> None:
        self._unit = unit

    def wait(self) -> None:
        """Have the parameters whole, as the module's attributes."""
        if self._unit is not None:
            self._unit.unshard()
            self._unit.show_whole()


class FSDPModule:
    """What fully_shard adds to a module's class."""

    def _members(self, recurse: bool) -> Iterator[Managed]:
        whole: Any = self
        for module in whole.modules() if recurse else [self]:
            if isinstance(module, FSDPModule):
                found = managed(module)
                if found is not None:
                    yield found

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters; with async_op a handle to wait for."""
        unit = next(self._members(False)).unit
        handle = UnshardHandle(unit)
        if async_op:
            if unit is not None:
                unit.gather()
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Let go of the whole parameters."""
        unit = next(self._members(False)).unit
        if unit is not None:
            unit.show_shards()
            unit.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward reduces gradients, or only accumulates whole ones on each rank."""
        for member in self._members(recurse):
            if member.unit is not None:
                member.unit.sync = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are let go between forward and backward."""
        for member in self._members(recurse):
            member.reshard = bool(reshard_after_forward)

    def _reduce_accumulated(self) -> None:
        """Reduce the gradients that backwards without sync have left on each rank."""
        units = [member.unit for member in self._members(True) if member.unit is not None]
        for unit in units:
            unit.sync = True
        reduce_all(units)

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Taken; every backward ends with all reductions done."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Gather these while this module computes forward."""
        next(self._members(False)).ahead = [managed(m) for m in modules]

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Gather these while this module computes backward."""
        next(self._members(False)).behind = [managed(m) for m in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by this instead of the number of ranks."""
        unit = next(self._members(False)).unit
        if unit is not None:
            unit.before, unit.after = 1.0, float(factor)

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        for member in self._members(True):
            if member.unit is not None:
                member.unit.show_shards()
                member.unit.release()
        found = super()._apply(fn, recurse)  # type: ignore[misc]
        self._adopt()
        return found

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """As a module's; with assign=True parameters on the meta device get values."""
        found = super().load_state_dict(*args, **kwargs)  # type: ignore[misc]
        self._adopt()
        return found

    def _adopt(self) -> None:
        """Hold what parameters have become: on another device, of another dtype, or of values at last."""
        for member in self._members(True):
            if member.unit is not None:
                member.unit.follow()


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Any = None,
) -> Any:
    """Shard the parameters of `module` that no fully_shard below it has, in place; the module.

    mesh: of one dim (default: all ranks), or of two: replicas, shards. reshard_after_forward: None lets
    parameters go unless the module turns out to be the root. shard_placement_fn: of a parameter, Shard(dim)
    where it is not to be cut along dim 0, or None. Apply it to the inner modules first. A list of modules is
    one unit. Parameters on the meta device get values by to_empty() and what initialises them, or
    by load_state_dict(assign=True). ValueError: a ModuleList or ModuleDict, a scalar parameter.
    """
    modules = [module] if isinstance(module, torch.nn.Module) else list(module)
    for m in modules:
        if (
            isinstance(m, (torch.nn.ModuleList, torch.nn.ModuleDict))
            and type(m).forward is torch.nn.Module.forward
        ):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {m}")
        if managed(m) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. The "
                f"following API has already been applied: fully_shard to {type(m).__name__}"
            )
    mesh = mesh or init_device_mesh(_device_type(modules), (_world(),))
    if mesh.device_type == "cuda":
        for m in modules:
            _moved(m, torch.device("cuda", torch.cuda.current_device()))
    policy = mp_policy or MixedPrecisionPolicy()
    place = None
    if mesh.device_type == "cuda" and isinstance(offload_policy, CPUOffloadPolicy):
        place = torch.device("cuda", torch.cuda.current_device())
    unit = _unit(modules, mesh, policy, {id(p) for p in ignored_params or ()}, place, shard_placement_fn)
    state = Managed(
        modules[0],
        unit,
        None if reshard_after_forward is None else bool(reshard_after_forward),
        policy.cast_forward_inputs,
        policy.output_dtype,
    )
    state.param_dtype = policy.param_dtype
    for m in modules:
        m.__dict__["_fsdp_managed"] = state
        kind: type = type(m)
        m.__class__ = _class(kind)
    modules[0].register_forward_pre_hook(functools.partial(_enter, state), prepend=True, with_kwargs=True)
    modules[-1].register_forward_hook(functools.partial(_leave, state))
    return module


def _device_type(modules: list[Any]) -> str:
    """What a mesh is of that nobody has named: CUDA devices where there are, unless gloo joins the ranks."""
    if any(p.is_cuda for m in modules for p in m.parameters()):
        return "cuda"
    joined = dist.is_initialized() and dist.get_backend() == "gloo"
    return "cuda" if torch.cuda.is_available() and not joined else "cpu"


def _moved(module: Any, where: Any) -> None:
    """Parameters and buffers of a module on a device, but those that inner modules manage."""
    if managed(module) is not None:
        return
    for p in module._parameters.values():  # which modules may share
        if p is not None and not p.is_meta:
            p.data = p.data.to(where)
    for name, b in module._buffers.items():
        if b is not None and not b.is_meta:
            module._buffers[name] = b.to(where)
    for child in module.children():
        _moved(child, where)


def _world() -> int:
    if not dist.is_initialized():
        dist.init_process_group()
    return dist.get_world_size()


@functools.cache
def _class(cls: type) -> type:
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__deepcopy__": _no_copy})


def _no_copy(self: Any, memo: Any) -> Any:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def _enter(state: Managed, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    state.lead(managed)
    return state.before_forward(args, kwargs)


def _leave(state: Managed, module: Any, args: Any, output: Any) -> Any:
    return state.after_forward(output)


def slots_of(
    modules: list[Any], skip: Any, ignored: set[int], refuse_meta: bool = True
) -> tuple[list[list[tuple[Any, str, str]]], list[Any]]:
    """(the places (module, name, path) of each parameter, the parameters) that no module has of which `skip`
    is true.
    """
    places: dict[int, list[tuple[Any, str, str]]] = {}
    params, seen = [], set()

    def walk(module: Any, prefix: str) -> None:
        if id(module) in seen or skip(module):
            return
        seen.add(id(module))
        for name, p in module._parameters.items():
            if p is None or id(p) in ignored:
                continue
            if p.is_meta and refuse_meta:
                raise NotImplementedError(
                    f"{prefix}{name} is on the meta device: FSDP shards parameters "
                    "that have values; call to_empty() and initialise them first"
                )
            if id(p) not in places:
                params.append(p)
            places.setdefault(id(p), []).append((module, name, prefix + name))
        for name, child in module.named_children():
            walk(child, f"{prefix}{name}.")

    for module in modules:
        walk(module, "")
    return [places[id(p)] for p in params], params


def _unit(
    modules: list[Any],
    mesh: DeviceMesh,
    policy: MixedPrecisionPolicy,
    ignored: set[int],
    place: Any,
    placement: Any,
) -> Unit | None:
    slots, params = slots_of(modules, lambda m: managed(m) is not None, ignored, False)
    if not params:
        return None
    for places, p in zip(slots, params, strict=True):
        if p.ndim == 0:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {places[0][2]} to a 1D "
                "tensor with numel equal to 1."
            )
    if len(dtypes := {p.dtype for p in params}) > 1:
        raise AssertionError(f"FSDP expects uniform original parameter dtype but got {dtypes}")
    world = mesh.size(mesh.ndim - 1)
    dims = [_cut_along(placement(p), p, world) if placement else 0 for p in params]
    unit = Unit(
        slots,
        params,
        functools.partial(Rows, dims=dims),
        mesh.get_group(mesh.ndim - 1),
        mesh.get_group(0) if mesh.ndim == 2 else None,
        policy.param_dtype,
        policy.reduce_dtype,
        place=place,
    )
    unit.sharded = _sharded(unit, mesh, dims)
    unit.show_shards()
    return unit


def _cut_along(placement: Any, p: Any, world: int) -> int:
    """Along which dim a parameter is cut. NotImplementedError where one but the first is uneven."""
    if placement is None:
        return 0
    if not isinstance(placement, Shard):
        raise AssertionError(f"Expected Shard, got {type(placement)}: {placement}")
    dim: int = placement.dim % p.ndim
    sizes = p.to_local().shape if isinstance(p, DTensor) else p.shape
    if dim and sizes[dim] % world:
        raise NotImplementedError(
            f"FSDP does not support uneven sharding on dim {dim}: {sizes} (world size: {world})"
        )
    return dim


def _sharded(unit: Unit, mesh: DeviceMesh, dims: list[int]) -> list[Any]:
    """The parameters that optimizers see: DTensors in the memory of the unit's shard."""
    pieces = unit.layout.pieces(unit.shard)
    return [
        Parameter(make(piece, *_lying(p, mesh, dim), p.shape), requires_grad=p.requires_grad)
        for p, piece, dim in zip(unit.whole, pieces, dims, strict=True)
    ]


def _lying(p: Any, mesh: DeviceMesh, dim: int) -> tuple[DeviceMesh, list[Any]]:
    """How a parameter lies that `mesh` cuts along a dim: of a DTensor, each of its parts."""
    replicas: list[Any] = [Replicate()] * (mesh.ndim - 1)
    if not isinstance(p, DTensor):
        return mesh, [*replicas, Shard(dim)]
    parts = prod(p.device_mesh.size(n) for n, lies in enumerate(p.placements) if lies.is_shard(dim))
    cut: Any = _StridedShard(dim, split_factor=parts) if parts > 1 else Shard(dim)
    return DeviceMesh._concatenate([mesh, p.device_mesh]), [*replicas, cut, *p.placements]


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let a call of this method gather and let go as forward() does; on other modules nothing happens."""
    state = managed(module)
    if state is None:
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _enter(state, module, args, kwargs)
        return _leave(state, module, args, method(*args, **kwargs))

    object.__setattr__(module, method_name, wrapped)
