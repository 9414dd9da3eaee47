"""What init_rpc() is told of how messages are sent."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.distributed.rpc.constants import (
    DEFAULT_INIT_METHOD,
    DEFAULT_NUM_WORKER_THREADS,
    DEFAULT_RPC_TIMEOUT_SEC,
)

__all__ = ["RpcBackendOptions", "TensorPipeRpcBackendOptions"]


class RpcBackendOptions:
    """How long a call may take by default, and where workers meet."""

    def __init__(
        self, rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = DEFAULT_INIT_METHOD
    ) -> None:
        self.rpc_timeout, self.init_method = float(rpc_timeout), init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The options of the one way of sending that there is, by TCP.

    num_worker_threads: how many calls of others run at a time. rpc_timeout: seconds, 0 for no end.
    init_method: as init_process_group()'s. device_maps: worker -> {device here: device there}, for tensors
    that are not on the CPU. devices: what PyTorch synchronizes; nothing here asks for it.
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = DEFAULT_INIT_METHOD,
        device_maps: dict[str, dict[Any, Any]] | None = None,
        devices: list[Any] | None = None,
        _transports: list[str] | None = None,
        _channels: list[str] | None = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        if num_worker_threads <= 0:
            raise RuntimeError(f"num_worker_threads must be positive, got {num_worker_threads}")
        self.num_worker_threads = num_worker_threads
        self.device_maps = {to: _to_device_map(pairs) for to, pairs in (device_maps or {}).items()}
        self.devices = _to_device_list(devices or [])

    def set_device_map(self, to: str, device_map: dict[Any, Any]) -> None:
        """Add to the map of devices for one worker. ValueError where a device would have two partners."""
        new, known = _to_device_map(device_map), self.device_maps.setdefault(to, {})
        for here, there in new.items():
            if known.get(here, there) != there:
                raise ValueError(
                    "`set_device_map` only supports 1-to-1 mapping, trying"
                    f" to map {here} to {there} and {known[here]}"
                )
        known.update(new)

    def set_devices(self, devices: list[Any]) -> None:
        """The devices of this worker."""
        self.devices = _to_device_list(devices)


def _to_device(device: Any) -> Any:
    found = torch.device(device)
    if found.type != "cuda":
        raise ValueError(f"`set_devices` expect a list of CUDA devices, but got device type {found.type}.")
    return found


def _to_device_map(pairs: dict[Any, Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    back: dict[Any, Any] = {}
    for here, there in pairs.items():
        a, b = torch.device(here), torch.device(there)
        if b in back:
            raise ValueError(
                f"`device_map` only supports 1-to-1 mapping, trying to map {a} and {back[b]} to {b}"
            )
        found[a], back[b] = b, a
    return found


def _to_device_list(devices: list[Any]) -> list[Any]:
    return [_to_device(device) for device in devices]
