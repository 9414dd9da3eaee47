"""State dicts of FullyShardedDataParallel and of optimizers over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.fsdp import api
from rushlight.distributed.fsdp.api import StateDictType
from rushlight.distributed.fsdp.unit import Unit
from rushlight.distributed.tensor.dtensor import DTensor, make
from rushlight.distributed.tensor.placement_types import Shard, local_part

WRAPPED = "_fsdp_wrapped_module."
CONFIGS = {
    StateDictType.FULL_STATE_DICT: (api.FullStateDictConfig(), api.FullOptimStateDictConfig()),
    StateDictType.LOCAL_STATE_DICT: (api.LocalStateDictConfig(), api.LocalOptimStateDictConfig()),
    StateDictType.SHARDED_STATE_DICT: (api.ShardedStateDictConfig(), api.ShardedOptimStateDictConfig()),
}


def register(wrapper: Any) -> None:
    """Have the hooks below called."""
    wrapper.register_state_dict_pre_hook(before_save)
    wrapper._register_state_dict_hook(after_save)
    wrapper.register_load_state_dict_pre_hook(before_load)
    wrapper.register_load_state_dict_post_hook(after_load)


# --- whole parameters -------------------------------------------------------------------------------


def _open(wrapper: Any, grads: bool = False) -> None:
    unit = wrapper._unit
    wrapper._summoned = True
    if unit is None:
        return
    unit.release()
    unit.unshard()
    if not unit.named:
        wrapper.module._parameters.pop("_flat_param", None)
    unit.show_whole(registered=True)
    if grads:
        pieces = [p.grad for p in unit.sharded]
        flat = torch.zeros_like(unit.shard)
        for piece, grad in zip(unit.layout.pieces(flat) if unit.named else [flat], pieces, strict=True):
            if grad is not None:
                piece.copy_(grad)
        for leaf, grad in zip(unit.whole, unit.gathered(flat), strict=True):
            leaf.grad = grad.clone() if leaf.requires_grad else None


def _close(wrapper: Any, writeback: bool) -> None:
    unit = wrapper._unit
    wrapper._summoned = False
    if unit is None:
        return
    if writeback:
        unit.write_back()
    for leaf in unit.whole:
        leaf.grad = None
    unit.show_shards()
    if not unit.named:
        wrapper.module._parameters["_flat_param"] = unit.sharded[0]
    unit.release()


@contextmanager
def summoned(wrapper: Any, writeback: bool, grads: bool) -> Iterator[None]:
    """A context in which one wrapper's parameters are whole."""
    _open(wrapper, grads)
    try:
        yield
    finally:
        _close(wrapper, writeback)


def cast_buffers(wrapper: Any, dtype: Any) -> None:
    """Cast the floating buffers that are the wrapper's own; state dicts keep their first dtype."""
    for name, buffer in wrapper._fsdp_wrapped_module.named_buffers():
        if WRAPPED not in name and buffer.is_floating_point() and name not in wrapper._buffer_dtypes:
            wrapper._buffer_dtypes[name] = buffer.dtype
            buffer.data = buffer.to(dtype)


# --- the model's state dict -------------------------------------------------------------------------


def before_save(wrapper: Any, prefix: str, keep_vars: bool) -> None:
    """Whole parameters, for all but flat state dicts."""
    if wrapper._settings.state_dict_type is not StateDictType.LOCAL_STATE_DICT:
        _open(wrapper)


def after_save(wrapper: Any, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    """Names without the wrapper; values of their own, whole or as DTensors."""
    unit, kind, config = wrapper._unit, wrapper._settings.state_dict_type, wrapper._settings.state_dict_config
    for key in [k for k in state if k.startswith(prefix + WRAPPED)]:
        state[prefix + key[len(prefix + WRAPPED) :]] = state.pop(key)
    for name, dtype in wrapper._buffer_dtypes.items():
        if prefix + name in state:
            state[prefix + name] = state[prefix + name].to(dtype)
    if kind is StateDictType.LOCAL_STATE_DICT:
        if unit is not None and not unit.named:
            state[prefix + "_flat_param"] = _rows(unit, unit.shard, [unit.layout.world * unit.layout.size])
        return
    for leaf, places in zip(unit.whole, unit.slots, strict=True) if unit is not None else ():
        whole = leaf.detach()
        value = (
            whole.to(unit.dtype, copy=True)
            if kind is StateDictType.FULL_STATE_DICT
            else distributed(whole.to(unit.dtype), unit)
        )
        for _, _, path in places:
            state[prefix + path] = value
    if unit is not None and unit.compute is not unit.dtype:
        _full_precision(unit, state, prefix, kind)
    _close(wrapper, False)
    if getattr(config, "rank0_only", False) and dist.get_rank(wrapper.process_group):
        for key in [k for k in state if k.startswith(prefix)]:
            del state[key]


def _full_precision(unit: Unit, state: dict[str, Any], prefix: str, kind: Any) -> None:
    """Values as the shards have them, where parameters compute in a narrower dtype."""
    for value, places in zip(unit.gathered(unit.shard), unit.slots, strict=True):
        for _, _, path in places:
            state[prefix + path] = (
                value.clone() if kind is StateDictType.FULL_STATE_DICT else distributed(value, unit)
            )


def _rows(unit: Unit, local: Any, shape: Any) -> DTensor:
    group = unit.shards if unit.shards is not None else unit.replicas
    mesh = DeviceMesh.from_group(group, unit.device.type)
    return make(local.detach(), mesh, [Shard(0)], shape)


def distributed(whole: Any, unit: Unit) -> DTensor:
    """A whole tensor, as rows on each rank."""
    empty = _rows(unit, whole, whole.shape)
    return make(local_part(whole, empty.device_mesh, [Shard(0)]), empty.device_mesh, [Shard(0)], whole.shape)


def before_load(wrapper: Any, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    """Names with the wrapper, whole values, whole parameters to copy them to."""
    for key in [k for k in state if k.startswith(prefix)]:
        value = state.pop(key)
        local = wrapper._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT
        if isinstance(value, DTensor):
            value = value.to_local() if local else value.full_tensor()
        state[prefix + WRAPPED + key[len(prefix) :]] = value
    if wrapper._settings.state_dict_type is not StateDictType.LOCAL_STATE_DICT:
        _open(wrapper)


def after_load(wrapper: Any, incompatible: Any) -> None:
    """Keep what was loaded."""
    if wrapper._summoned:
        _close(wrapper, True)


# --- an optimizer's state dict ----------------------------------------------------------------------


def _units(model: Any) -> list[tuple[str, Unit]]:
    """(prefix of names, unit) of all wrappers in a model."""
    found = [
        (name, m._unit) for name, m in model.named_modules() if hasattr(m, "_unit") and m._unit is not None
    ]
    return [(f"{name}.".replace(WRAPPED, "") if name else "", unit) for name, unit in found]


def _whole_states(unit: Unit, held: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The states of each of a unit's parameters; `held`: this rank's, by the id of the sharded parameter."""
    # Of a parameter of which a rank has nothing it has no state, or one that was left behind.
    mine = [held.get(id(p), {}) if p.numel() else {} for p in unit.sharded]
    numbers = [{k: v for k, v in state.items() if not _is_cut(v)} for state in mine]
    known: list[Any] = [(numbers, {k: v.dtype for state in mine for k, v in state.items() if _is_cut(v)})]
    if unit.shards is not None:
        known *= unit.shards.size()
        dist.all_gather_object(known, known[0], group=unit.shards)
    found: list[dict[str, Any]] = [{} for _ in unit.slots]
    for theirs, _ in known:
        for place, state in enumerate(found):
            state.update(theirs[place if unit.named else 0])
    for key, dtype in {k: dtype for _, cut in known for k, dtype in cut.items()}.items():
        flat = torch.zeros(unit.layout.size, dtype=dtype, device=unit.device)
        for piece, own in zip(unit.layout.pieces(flat) if unit.named else [flat], mine, strict=True):
            if key in own:
                piece.copy_(own[key])
        for state, value in zip(found, unit.gathered(flat), strict=True):
            state[key] = value.clone()
    return found


def _is_cut(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.ndim > 0


def optim_state_dict(model: Any, optim: Any, given: Any = None) -> dict[str, Any]:
    """{"state": {name: states}, "param_groups": groups of names}."""
    settings = next(m._settings for m in model.modules() if hasattr(m, "_settings"))
    given = optim.state_dict() if given is None else given
    numbered = [p for group in optim.param_groups for p in group["params"]]
    held = {id(numbered[n]): state for n, state in given["state"].items()}
    state: dict[str, Any] = {}
    names: dict[int, list[str]] = {}
    for prefix, unit in _units(model):
        paths = [prefix + path for path in unit.names]
        for number, p in enumerate(unit.sharded):
            names[id(p)] = [paths[number]] if unit.named else paths
        for path, found in zip(paths, _whole_states(unit, held), strict=True):
            if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
                found = {
                    k: distributed(v, unit) if isinstance(v, torch.Tensor) and v.ndim else v
                    for k, v in found.items()
                }
            if found:
                state[path] = found
    for name, p in model.named_parameters():
        if id(p) not in names:
            names[id(p)] = [name.replace(WRAPPED, "")]
            if id(p) in held:
                state[names[id(p)][0]] = held[id(p)]
    groups = [
        {**packed, "params": [n for p in group["params"] for n in names[id(p)]]}
        for packed, group in zip(given["param_groups"], optim.param_groups, strict=True)
    ]
    if getattr(settings.optim_state_dict_config, "rank0_only", False) and dist.get_rank():
        return {}
    return {"state": state, "param_groups": groups}


def optim_state_dict_to_load(model: Any, optim: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The optimizer's own state dict, cut for this rank."""
    numbers = {id(p): n for n, p in enumerate(p for group in optim.param_groups for p in group["params"])}
    state: dict[int, Any] = {}
    for prefix, unit in _units(model):
        wholes = [given["state"].get(prefix + path, {}) for path in unit.names]
        mine: list[dict[str, Any]] = [{} for _ in unit.sharded]
        for key in {key: None for whole in wholes for key in whole}:
            values = [v.full_tensor() if isinstance(v := whole.get(key), DTensor) else v for whole in wholes]
            pieces: list[Any] = values if unit.named else [next(v for v in values if v is not None)]
            if any(map(_is_cut, values)):
                shard = unit.layout.shard(
                    [
                        torch.zeros(s, device=unit.device) if v is None else v.to(unit.device)
                        for v, s in zip(values, unit.layout.shapes)
                    ],
                    unit.dtype,
                )
                pieces = unit.layout.pieces(shard) if unit.named else [shard]
            for p, found, piece in zip(unit.sharded, mine, pieces, strict=True):
                if piece is not None and p.numel():
                    found[key] = piece
        state.update(
            {numbers[id(p)]: found for p, found in zip(unit.sharded, mine) if found and id(p) in numbers}
        )
    names = {
        id(p): prefix + unit.names[n] for prefix, unit in _units(model) for n, p in enumerate(unit.sharded)
    }
    for name, p in model.named_parameters():
        clean = names.setdefault(id(p), name.replace(WRAPPED, ""))
        if id(p) in numbers and clean in given["state"]:
            state.setdefault(numbers[id(p)], given["state"][clean])
    return {"state": state, "param_groups": own_groups(optim, names, given["param_groups"])}


def own_groups(optim: Any, names: dict[int, str], given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The optimizer's groups as its state dict has them, with the options of the given groups of names."""
    found, count = [], 0
    for group in optim.param_groups:
        same = (
            next((g for g in given if names[id(group["params"][0])] in g["params"]), None)
            if group["params"]
            else None
        )
        numbers = list(range(count, count := count + len(group["params"])))
        found.append({**(group if same is None else same), "params": numbers})
    return found
