"""State dicts of models and optimizers by the parameters' own names, whatever wraps the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.core.pytree import tree_map
from rushlight.distributed.fsdp.api import StateDictType
from rushlight.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as FSDP
from rushlight.distributed.fsdp.states import own_groups
from rushlight.distributed.tensor.dtensor import DTensor, distribute_tensor

_WRAPPERS = re.compile(r"(^|\.)(_fsdp_wrapped_module|_checkpoint_wrapped_module|_orig_mod)(?=\.)")


@dataclass
class StateDictOptions:
    """full_state_dict: whole tensors instead of DTensors; with cpu_offload only rank 0 gets them. strict: of
    loading. ignore_frozen_params: leave out parameters that need no gradient. broadcast_from_rank0: of
    loading whole tensors, which rank 0 alone has.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def _name(model: Any, name: str) -> str:
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        name = name.removeprefix("module.")
    return _WRAPPERS.sub("", name).lstrip(".")


def _names(model: Any) -> dict[int, str]:
    return {id(p): _name(model, name) for name, p in model.named_parameters(remove_duplicate=False)}


def _is_fsdp(model: Any) -> bool:
    return any(isinstance(m, FSDP) for m in model.modules())


def _kind(options: StateDictOptions) -> StateDictType:
    return StateDictType.FULL_STATE_DICT if options.full_state_dict else StateDictType.SHARDED_STATE_DICT


def _finished(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Whole tensors where they are asked for."""
    if not options.full_state_dict:
        return state
    state = tree_map(lambda v: v.full_tensor() if isinstance(v, DTensor) else v, state)
    return {} if options.cpu_offload and dist.is_initialized() and dist.get_rank() else state


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's state dict; of sharded parameters DTensors, or whole tensors."""
    options = options or StateDictOptions()
    if _is_fsdp(model):
        with FSDP.state_dict_type(model, _kind(options)):
            state = model.state_dict()
    else:
        state = model.state_dict()
    frozen = {_name(model, n) for n, p in model.named_parameters() if not p.requires_grad}
    found = {_name(model, key): value for key, value in state.items()}
    return _finished(
        {k: v for k, v in found.items() if not (options.ignore_frozen_params and k in frozen)},
        options,
    )


def _init_optim_state(optimizer: Any) -> None:
    """Give an optimizer that has not stepped its states: a step of length 0."""
    if optimizer.state:
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if any(p.grad is not None for p in params):
        return
    for group in optimizer.param_groups:
        group["lr"] = torch.zeros(()) if isinstance(group["lr"], torch.Tensor) else 0.0
    for p in params:
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """{"state": {name: states}, "param_groups": groups of names} of one or several optimizers."""
    options = options or StateDictOptions()
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        if _is_fsdp(model):
            with FSDP.state_dict_type(model, _kind(options)):
                state = FSDP.optim_state_dict(model, optimizer)
        else:
            names, given = _names(model), optimizer.state_dict()
            order = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
            state = {
                "state": {order[n]: value for n, value in given["state"].items()},
                "param_groups": [
                    {**g, "params": [order[n] for n in g["params"]]} for g in given["param_groups"]
                ],
            }
        found["state"].update(state["state"])
        found["param_groups"] += state["param_groups"]
    return _finished(found, options)


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


@dataclass
class _Sent:
    """A tensor in a state dict that rank 0 sends: which, and what it is like."""

    number: int
    shape: Any
    dtype: Any


def _given(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """The state dict that is to be loaded; rank 0's, where it alone has one."""
    if not options.broadcast_from_rank0:
        return state
    if not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    if not dist.is_initialized():
        return state
    tensors: list[Any] = []

    def noted(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(value.detach())
        return _Sent(len(tensors) - 1, value.shape, value.dtype)

    first = dist.get_rank() == 0
    told: list[Any] = [tree_map(noted, state) if first else None]
    dist.broadcast_object_list(told, src=0)
    on_device = dist.get_backend() == "nccl"

    def got(value: Any) -> Any:
        if not isinstance(value, _Sent):
            return value
        t = tensors[value.number] if first else torch.empty(value.shape, dtype=value.dtype)
        t = t.cuda() if on_device else t.contiguous()
        dist.broadcast(t, src=0)
        return t

    filled: dict[str, Any] = tree_map(got, told[0])
    return filled


def _fitted(value: Any, like: Any) -> Any:
    """A whole tensor as the DTensor that it is to be copied to."""
    if isinstance(like, DTensor) and not isinstance(value, DTensor) and value.ndim:
        return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)
    return value


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load what get_model_state_dict() gave, whole or not."""
    options = options or StateDictOptions()
    model_state_dict = _given(model_state_dict, options)
    if _is_fsdp(model):
        with FSDP.state_dict_type(model, _kind(options)):
            return model.load_state_dict(model_state_dict, strict=options.strict)
    own = {_name(model, key): (key, value) for key, value in model.state_dict().items()}
    state = {
        own[k][0] if k in own else k: _fitted(v, own[k][1]) if k in own else v
        for k, v in model_state_dict.items()
    }
    unmade = any(isinstance(v, torch.Tensor) and v.is_meta for _, v in own.values())
    return model.load_state_dict(state, strict=options.strict, assign=unmade)


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load what get_optimizer_state_dict() gave, whole or not."""
    names = _names(model)
    optim_state_dict = _given(optim_state_dict, options or StateDictOptions())
    for optimizer in _listed(optimizers):
        if _is_fsdp(model):
            optimizer.load_state_dict(FSDP.optim_state_dict_to_load(model, optimizer, optim_state_dict))
            continue
        params = [p for group in optimizer.param_groups for p in group["params"]]
        state = {
            n: {
                k: _fitted(v, p) if isinstance(v, torch.Tensor) else v
                for k, v in optim_state_dict["state"][names[id(p)]].items()
            }
            for n, p in enumerate(params)
            if names[id(p)] in optim_state_dict["state"]
        }
        groups = own_groups(optimizer, names, optim_state_dict["param_groups"])
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Both."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
