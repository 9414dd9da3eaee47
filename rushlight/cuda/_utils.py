"""torch.cuda._utils: a device's number from what programs give for a device."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import cuda


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """A device's number: a number is one; None and "cuda" are the current one, if `optional`.

    allow_cpu: the CPU is -1. ValueError for other devices.
    """
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != "cuda":
            wanted = "cuda or cpu" if allow_cpu else "cuda"
            raise ValueError(f"Expected a {wanted} device, but got: {device}")
        if device.index is not None:
            return int(device.index)
    elif isinstance(device, cuda.device):
        return int(device.idx)
    elif device is not None:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return int(cuda.current_device())
