"""A module that lies on another worker."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.distributed.remote_device import _remote_device
from rushlight.distributed.rpc import api
from rushlight.distributed.rpc.internal import _internal_rpc_pickler

__all__ = ["RemoteModule"]


def _create_module(module_cls: Any, args: Any, kwargs: Any, device: str) -> Any:
    module = module_cls(*args, **kwargs)
    if not isinstance(module, nn.Module):
        raise ValueError(
            "Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, "
            f"but it returns an instance of {type(module)}."
        )
    return module.to(device)


def _param_rrefs(module_rref: Any, recurse: bool) -> list[Any]:
    return [api.RRef(parameter) for parameter in module_rref.local_value().parameters(recurse)]


def _forward(module_rref: Any, device: str, moved_back: bool, args: Any, kwargs: Any) -> Any:
    """Run the module on its device; what no map of devices can send comes back on the CPU."""

    def to(value: Any, where: str) -> Any:
        return value.to(where) if isinstance(value, torch.Tensor) else value

    module = module_rref.local_value()
    given = [to(value, device) for value in args]
    found = module(*given, **{name: to(value, device) for name, value in kwargs.items()})
    if not moved_back:
        return found
    return tuple(to(one, "cpu") for one in found) if isinstance(found, tuple) else to(found, "cpu")


class _RemoteModule(nn.Module):
    """What PyTorch calls the class below RemoteModule."""

    def __init__(
        self,
        remote_device: str,
        module_cls: Any,
        args: Any = None,
        kwargs: Any = None,
        _module_interface_cls: Any = None,
    ) -> None:
        super().__init__()
        self._prepare_init(remote_device)
        self.module_rref = api.remote(
            self.on, _create_module, (module_cls, tuple(args or ()), dict(kwargs or {}), self.device)
        )

    def _prepare_init(self, remote_device: str) -> None:
        if not api._is_current_rpc_agent_set():
            raise AssertionError("RemoteModule only works in RPC.")
        where = _remote_device(remote_device)
        name = where.worker_name()
        self.on: Any = where.rank() if name is None else name
        self.device, self.is_scriptable = str(where.device()), False
        agent = api._get_current_rpc_agent()
        self.is_device_map_set = bool(agent.options.device_maps.get(agent.get_worker_info(self.on).name))

    def _call(self, args: Any, kwargs: Any) -> Any:
        back = self.device != "cpu" and not self.is_device_map_set
        return api.rpc_async(self.on, _forward, (self.module_rref, self.device, back, args, kwargs))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module makes of it; waits."""
        return self._call(args, kwargs).wait()

    def forward_async(self, *args: Any, **kwargs: Any) -> Any:
        """The future of forward()."""
        return self._call(args, kwargs)

    def remote_parameters(self, recurse: bool = True) -> list[Any]:
        """References to the module's parameters, as DistributedOptimizer takes them."""
        found: list[Any] = api.rpc_sync(self.on, _param_rrefs, args=(self.module_rref, recurse))
        return found

    def get_module_rref(self) -> Any:
        """The reference to the module."""
        return self.module_rref

    @staticmethod
    def init_from_module_rref(
        remote_device: str, module_rref: Any, _module_interface_cls: Any = None
    ) -> RemoteModule:
        """A RemoteModule of a module that is there."""
        found = RemoteModule.__new__(RemoteModule)
        nn.Module.__init__(found)
        found._prepare_init(remote_device)
        found.module_rref = module_rref
        return found

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC"
        )

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError(
            "Cannot unpickle RemoteModule in python pickler. RemoteModule can only be unpickled when "
            "using RPC"
        )


class RemoteModule(_RemoteModule):
    """A module that another worker makes and keeps: forward() and forward_async() run it there.

    remote_device: "worker/device", "rank:N/device" or "worker" (its CPU). module_cls, args, kwargs: what
    makes it there. Its parameters are not parameters here; remote_parameters() refers to them.
    """


# What would say something of parameters and modules that are not here.
_NOT_HERE = (
    "register_buffer register_parameter add_module apply cuda ipu xpu cpu type float double half bfloat16 to "
    "register_backward_hook register_forward_pre_hook register_forward_hook state_dict load_state_dict "
    "parameters named_parameters buffers named_buffers children named_children modules named_modules "
    "requires_grad_ zero_grad share_memory extra_repr"
).split()


def _refusing(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"Method ``{name}`` not supported for RemoteModule")

    method.__name__ = method.__qualname__ = name
    return method


def _train(self: Any, mode: bool = True) -> Any:
    return api.rpc_sync(self.on, _set_training, args=(self.module_rref, mode)) or self


def _set_training(module_rref: Any, mode: bool) -> None:
    module_rref.local_value().train(mode)


def _received(on: Any, device: str, scriptable: bool, mapped: bool, module_rref: Any) -> Any:
    found = RemoteModule.__new__(RemoteModule)
    nn.Module.__init__(found)
    found.on, found.device, found.is_scriptable, found.is_device_map_set = on, device, scriptable, mapped
    found.module_rref = module_rref
    return found


def _sent(module: Any) -> Any:
    kept = (module.on, module.device, module.is_scriptable, module.is_device_map_set, module.module_rref)
    return _received, kept


for _name in _NOT_HERE:
    setattr(_RemoteModule, _name, _refusing(_name))
setattr(_RemoteModule, "train", _train)
setattr(_RemoteModule, "eval", lambda self: _train(self, False))
_internal_rpc_pickler._register_reducer(RemoteModule, _sent)
