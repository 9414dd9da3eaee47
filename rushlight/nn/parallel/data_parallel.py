"""DataParallel: the wrapper that PyTorch's older programs put around a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._utils import (
    _get_all_device_indices,
    _get_available_device_type,
    _get_device_index,
    _get_devices_properties,
)
from rushlight.nn.modules.module import Module
from rushlight.nn.parallel.parallel_apply import parallel_apply
from rushlight.nn.parallel.replicate import replicate
from rushlight.nn.parallel.scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _check_balance(device_ids: Iterable[Any]) -> None:
    """Warn where one device has much less memory, or fewer processors, than another."""
    indices = [_get_device_index(d, True) for d in device_ids]
    known = _get_devices_properties(indices)
    for name in ("total_memory", "multi_processor_count"):
        values = [getattr(each, name) for each in known]
        least, most = values.index(min(values)), values.index(max(values))
        if values[least] / values[most] < 0.75:
            warn(
                f"""
    There is an imbalance between your GPUs. You may want to exclude GPU {indices[least]} which
    has less than 75% of the memory or cores of GPU {indices[most]}. You can do so by setting
    the device_ids argument to DataParallel, or by setting the CUDA_VISIBLE_DEVICES
    environment variable."""
            )
            return


def _check_place(module: Any, device: Any) -> None:
    """RuntimeError for parameters or buffers elsewhere."""
    for t in (*module.parameters(), *module.buffers()):
        if t.device != device:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {device} (device_ids[0]) but found "
                f"one of them on device: {t.device}"
            )


class DataParallel(Module):
    """Calls copies of `module` on several devices, each with a part of the batch; without any, the module.

    device_ids: the devices, all if None. output_device: where results are put together, the first of them
    if None. dim: along which the batch is cut. The state dict has PyTorch's keys: those of the module behind
    "module.".
    """

    device_ids: list[int]
    output_device: int

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        kind = _get_available_device_type()
        if kind is None:
            self.module: Any = module
            self.device_ids = []
            return
        given: Any = _get_all_device_indices() if device_ids is None else device_ids
        self.dim, self.module = dim, module
        self.device_ids = [_get_device_index(d, True) for d in given]
        self.output_device = _get_device_index(given[0] if output_device is None else output_device, True)
        self.src_device_obj = torch.device(kind, self.device_ids[0])
        _check_balance(self.device_ids)
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives for these arguments."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_place(self.module, self.src_device_obj)
        given, named = self.scatter(inputs, kwargs, self.device_ids)
        if not given and not named:  # nothing to cut: the first device alone
            given, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*given[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(given)])
        return self.gather(self.parallel_apply(replicas, given, named), self.output_device)

    def replicate(self, module: Any, device_ids: Sequence[Any]) -> list[Any]:
        """A copy of the module for each device."""
        return replicate(module, device_ids, not torch.is_grad_enabled())

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[Any]) -> Any:
        """The arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        """The copies' results."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """The results as one."""
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """module(*inputs, **module_kwargs), as DataParallel calls it."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    kind = _get_available_device_type()
    if kind is None:
        raise RuntimeError("device type could not be determined")
    devices: Any = _get_all_device_indices() if device_ids is None else device_ids
    indices = [_get_device_index(d, True) for d in devices]
    target = _get_device_index(devices[0] if output_device is None else output_device, True)
    _check_place(module, torch.device(kind, indices[0]))
    given, named = scatter_kwargs(inputs, module_kwargs, indices, dim)
    if not given and not named:
        given, named = ((),), ({},)
    if len(indices) == 1:
        return module(*given[0], **named[0])
    used = indices[: len(given)]
    outputs = parallel_apply(replicate(module, used), given, named, used)
    return gather(outputs, target, dim)
