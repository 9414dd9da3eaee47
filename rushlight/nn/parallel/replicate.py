"""Copies of a module for several devices (torch.nn.parallel.replicate)."""

from __future__ import annotations

from typing import Any

from rushlight.nn.parallel.comm import Broadcast, accelerators

__all__ = ["replicate"]


def replicate(network: Any, devices: Any, detach: bool = False) -> list[Any]:
    """A copy of `network` for each device, without parameters of its own.

    AssertionError where it has parameters or buffers: there are no devices to copy them to.
    """
    devices = accelerators(devices)
    if not devices:
        return []
    held = [*network.parameters(), *network.buffers()]
    Broadcast.apply(devices, *held)
    copies = [
        {module: module._replicate_for_data_parallel() for module in network.modules()} for _ in devices
    ]
    for of in copies:
        for module, copied in of.items():
            for name, child in module._modules.items():
                copied._modules[name] = child if child is None else of[child]
    return [of[network] for of in copies]
