"""Modules that run side by side on several devices (torch.nn.parallel.parallel_apply)."""

from __future__ import annotations

import threading
from typing import Any

import rushlight as torch
from rushlight._utils import ExceptionWrapper, _get_device_index

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Any:
    """A tensor that nested containers hold, or None."""
    if isinstance(obj, torch.Tensor):
        return obj
    inner = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return next((found for one in inner if (found := get_a_var(one)) is not None), None)


class _Replica:
    """One module's call in a thread; `found` is its result, or the exception."""

    def __init__(self, number: int, device: Any, stream: Any) -> None:
        self.number, self.device, self.stream = number, device, stream
        self.found: Any = None
        # Modes are a thread's own.
        self.modes = torch.is_grad_enabled(), torch.is_autocast_enabled("cuda")
        self.dtype = torch.get_autocast_dtype("cuda")

    def run(self, module: Any, given: Any, named: Any) -> None:
        """Call the module on its device."""
        torch.set_grad_enabled(self.modes[0])
        try:
            with (
                torch.cuda.device(self.device),
                torch.cuda.stream(self.stream),
                torch.autocast("cuda", self.dtype, enabled=self.modes[1]),
            ):
                inputs = given if isinstance(given, (list, tuple)) else (given,)
                self.found = module(*inputs, **named)
        except Exception:
            self.found = ExceptionWrapper(where=f"in replica {self.number} on device {self.device}")


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """The results of modules, each called in a thread of its own, on its device.

    inputs: a tuple or list of arguments for each, or a single one. devices: those of the modules; the current
    one for what has none.
    """
    _of_one_length(modules, inputs, "inputs")
    if kwargs_tup is not None:
        _of_one_length(modules, kwargs_tup, "kwargs_tup")
    if devices is not None:
        _of_one_length(modules, devices, "devices")
    named = ({},) * len(modules) if kwargs_tup is None else kwargs_tup
    where = [_get_device_index(d, True) for d in ([None] * len(modules) if devices is None else devices)]
    replicas = [_Replica(n, d, torch.accelerator.current_stream(d)) for n, d in enumerate(where)]
    calls = list(zip(modules, inputs, named, strict=True))
    if len(modules) == 1:
        replicas[0].run(*calls[0])
    else:
        threads = [
            threading.Thread(target=replica.run, args=call)
            for replica, call in zip(replicas, calls, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for replica in replicas:
        if isinstance(replica.found, ExceptionWrapper):
            replica.found.reraise()
    return [replica.found for replica in replicas]


def _of_one_length(modules: Any, given: Any, name: str) -> None:
    if len(modules) != len(given):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of {name} {len(given)}"
        )
