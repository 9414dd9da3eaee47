"""Copies of a module for several devices (torch.nn.parallel.replicate)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.tensors.tensor import Tensor
from rushlight._utils import _get_device_index
from rushlight.nn.parallel import comm
from rushlight.nn.parallel._functions import Broadcast, _complex_again

__all__ = ["replicate"]


def _replicatable_module(module: Any) -> bool:
    """Whether no scripted module has others below it."""
    scripted = torch.jit.ScriptModule
    return all(
        isinstance(below, scripted)
        for each in module.modules()
        if isinstance(each, scripted)
        for below in each.modules()
    )


def _broadcast_coalesced_reshape(
    tensors: Sequence[Tensor], devices: Sequence[int], detach: bool = False
) -> list[list[Tensor]]:
    """The tensors on each device, with gradients unless `detach`."""
    if not tensors:
        return []
    if detach:
        which = [t.is_complex() for t in tensors]
        return [_complex_again(held, which) for held in comm.broadcast_coalesced(tensors, devices)]
    copies = Broadcast.apply(devices, *tensors)
    return [list(copies[n : n + len(tensors)]) for n in range(0, len(copies), len(tensors))]


def _on_devices(network: Any, devices: Sequence[int], detach: bool) -> list[dict[Tensor, Tensor]]:
    """For each device, what stands there for each parameter and buffer."""
    parameters, buffers = list(network.parameters()), list(network.buffers())
    tracked = [b for b in buffers if b.requires_grad and not detach]
    others = [b for b in buffers if not (b.requires_grad and not detach)]
    found: list[dict[Tensor, Tensor]] = [{} for _ in devices]
    for group, apart in ((parameters, detach), (tracked, detach), (others, True)):
        for of, copies in zip(found, _broadcast_coalesced_reshape(group, devices, apart), strict=False):
            of.update(zip(group, copies, strict=True))
    return found


def replicate(network: Any, devices: Any, detach: bool = False) -> list[Any]:
    """A copy of `network` for each device, whose parameters are results of copying its own.

    detach: without gradients.
    """
    if not _replicatable_module(network):
        raise RuntimeError("Cannot replicate network where python modules are children of ScriptModule")
    if not devices:
        return []
    indices = [_get_device_index(d, True) for d in devices]
    held = _on_devices(network, indices, detach)
    copies = [{m: m._replicate_for_data_parallel() for m in network.modules()} for _ in indices]
    for of, tensors in zip(copies, held, strict=True):
        for module, copied in of.items():
            _fill(module, copied, of, tensors)
    return [of[network] for of in copies]


def _fill(module: Any, copied: Any, modules: dict[Any, Any], tensors: dict[Tensor, Tensor]) -> None:
    """Give a copy of a module the copies of what the module holds."""
    # What its parameters have become, which parameters() does not tell.
    copied._former_parameters = {}
    for name, child in module._modules.items():
        if child is None:
            copied._modules[name] = None
        else:
            setattr(copied, name, modules[child])
    for name, parameter in module._parameters.items():
        if parameter is None:
            copied._parameters[name] = None
        else:
            setattr(copied, name, tensors[parameter])
            copied._former_parameters[name] = tensors[parameter]
    for name, buffer in module._buffers.items():
        if buffer is None:
            copied._buffers[name] = None
        else:
            setattr(copied, name, tensors[buffer])
