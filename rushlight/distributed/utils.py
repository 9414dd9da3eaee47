"""What wrappers share: arguments on a device, equal parameters on all ranks (torch.distributed.utils)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.communication.common import broadcast_coalesced


def _pack_kwargs(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """(all values, positional ones first; the names of the last of them)."""
    return (*args, *kwargs.values()), tuple(kwargs)


def _unpack_kwargs(
    flat_args: tuple[Any, ...], kwarg_keys: tuple[str, ...]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `_pack_kwargs` was given."""
    if len(kwarg_keys) > len(flat_args):
        raise AssertionError(f"too many keys {len(kwarg_keys)} vs. {len(flat_args)}")
    count = len(flat_args) - len(kwarg_keys)
    return tuple(flat_args[:count]), dict(zip(kwarg_keys, flat_args[count:], strict=True))


def _p_assert(cond: Any, s: str, raise_assertion_error: bool = True) -> None:
    """Say what is wrong, and raise."""
    if not cond:
        print(s)
        if raise_assertion_error:
            raise AssertionError(s)


def _apply_to_tensors(fn: Callable[[Any], Any], container: Any) -> Any:
    """A structure with fn(t) for its tensors."""
    if isinstance(container, torch.Tensor):
        return fn(container)
    if isinstance(container, torch.nn.utils.rnn.PackedSequence):
        _apply_to_tensors(fn, container.data)
        return container
    if dataclasses.is_dataclass(container) and not isinstance(container, type):
        named = {field.name: getattr(container, field.name) for field in dataclasses.fields(container)}
        found = copy.copy(container)
        for name, value in named.items():
            object.__setattr__(found, name, _apply_to_tensors(fn, value))
        return found
    if isinstance(container, dict):
        made = container.copy()
        made.update((key, _apply_to_tensors(fn, value)) for key, value in container.items())
        return made
    if isinstance(container, (list, tuple, set)):
        items = [_apply_to_tensors(fn, value) for value in container]
        return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)
    return container


def _cast_forward_inputs(dtype: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Arguments, whose floating tensors are of a dtype."""
    if dtype is None:
        return args, kwargs

    def cast(t: Any) -> Any:
        return t.to(dtype) if t.is_floating_point() and t.dtype != dtype else t

    return _apply_to_tensors(cast, args), _apply_to_tensors(cast, kwargs)


def _recursive_to(inputs: Any, target_device: Any, use_side_stream_for_tensor_copies: bool) -> Any:
    """[inputs, whose tensors are on a device]: a list, as if there were several devices."""
    return [_apply_to_tensors(lambda t: t.to(target_device), inputs)]


def _to_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_device: Any,
    use_side_stream_for_tensor_copies: bool,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """((args,), (kwargs,)) on a device."""
    if not inputs and not kwargs:
        return (), ()
    moved = _recursive_to(inputs, target_device, use_side_stream_for_tensor_copies)
    named = _recursive_to(kwargs or {}, target_device, use_side_stream_for_tensor_copies)
    return tuple(moved), tuple(named)


def _verify_param_shape_across_processes(process_group: Any, tensors: list[Any], logger: Any = None) -> None:
    """RuntimeError where ranks have other tensors than rank 0, in number or shape."""
    shapes = [tuple(t.shape) for t in tensors]
    everybody: list[Any] = [None] * process_group.size()
    dist.all_gather_object(everybody, shapes, group=process_group)
    rank = process_group.rank()
    other = next((r for r, theirs in enumerate(everybody) if len(theirs) != len(shapes)), None)
    if other is not None:
        raise RuntimeError(
            f"DDP expects same model across all ranks, but Rank {rank} has {len(shapes)} "
            f"params, while rank {other} has inconsistent {len(everybody[other])} params."
        )
    for number, (mine, first) in enumerate(zip(shapes, everybody[0], strict=True)):
        if mine != first:
            raise RuntimeError(
                f"[{rank}]: params[{number}] in this process with sizes {list(mine)} "
                "appears not to match sizes of the same param in process 0."
            )


def _sync_params_and_buffers(
    process_group: Any, module_states: list[Any], broadcast_bucket_size: int, src: int
) -> None:
    """Tensors as rank `src` of the group has them."""
    if module_states:
        broadcast_coalesced(module_states, src, process_group)


def _sync_module_states(
    module: Any,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Any,
    broadcast_buffers: bool = True,
) -> None:
    """A module's parameters, and buffers, as rank `src` of the group has them."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    tensors = [t.detach() for name, t in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, tensors, broadcast_bucket_size, src)


def _replace_by_prefix(state_dict: dict[str, Any], old_prefix: str, new_prefix: str) -> None:
    """Names that begin with one prefix begin with another one, in place."""
    if old_prefix == new_prefix:
        raise ValueError("old_prefix and new_prefix must be distinct")
    for key in [key for key in state_dict if key.startswith(old_prefix)]:
        state_dict[new_prefix + key[len(old_prefix) :]] = state_dict.pop(key)


def _data_ptr_allocated(tensor: Any) -> bool:
    """Whether a tensor has memory."""
    return bool(tensor.untyped_storage().data_ptr() > 0)


def _get_root_modules(modules: list[Any]) -> list[Any]:
    """Those of some modules that no other one of them has."""

    def below(module: Any) -> Iterator[int]:
        found = iter(module.modules())
        next(found)
        return map(id, found)

    inner = {number for module in modules for number in below(module)}
    return [module for module in modules if id(module) not in inner]
