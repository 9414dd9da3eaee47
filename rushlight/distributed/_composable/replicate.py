"""Data parallelism by hooks of the module itself (torch.distributed._composable.replicate)."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, NoReturn

import rushlight as torch
from rushlight import nn
from rushlight.distributed._composable.contract import _get_registry, contract
from rushlight.distributed._composable_state import _State
from rushlight.nn.parallel import DistributedDataParallel

__all__ = ["DDP", "replicate"]


class _ReplicateState(_State):
    """Of a module: its parameters' DistributedDataParallel, made when the module is first called."""

    def __init__(self) -> None:
        super().__init__()
        self.module: nn.Module = nn.ParameterList()
        self.has_initialized = False
        self._param_list = nn.ParameterList()
        self._param_names: list[str] = []
        self._no_sync = False
        self._ignored: set[nn.Module] = set()
        self._options: dict[str, Any] = {}
        self._comm_hook_args: list[Any] = []
        self._ddp: Any = None

    def _collect_params(self, module: nn.Module, ignored: set[int], prefix: str = "") -> None:
        """The parameters below a module, but those that are ignored or that fully_shard manages."""
        if _is_fully_sharded(module) or module in self._ignored:
            return
        for name, param in module.named_parameters(recurse=False):
            if id(param) not in ignored:
                self._param_list.append(param)
                self._param_names.append(f"{prefix}{name}")
        for name, child in module.named_children():
            self._collect_params(child, ignored, f"{prefix}{name}.")

    def init(self) -> None:
        """Make the DistributedDataParallel."""
        if self.has_initialized:
            return
        self.has_initialized = True
        apart = [*self._ignored, *(m for m in self.module.modules() if _is_fully_sharded(m))]
        self._collect_params(self.module, {id(p) for m in apart for p in m.parameters()})
        self._ddp = DistributedDataParallel(self._param_list, **_device_ids(self._options))
        replicate.state(self.module)._ddp_weakref = weakref.ref(self._ddp)
        for args, kwargs in self._comm_hook_args:
            self._ddp.register_comm_hook(*args, **kwargs)
        self._comm_hook_args.clear()

    def before(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """What a call begins with."""
        self.init()
        self._ddp.require_backward_grad_sync = not self._no_sync
        return self._ddp._pre_forward(*args, **kwargs)

    def after(self, module: nn.Module, args: Any, output: Any) -> Any:
        """What a call ends with."""
        return self._ddp._post_forward(output)


def _device_ids(options: dict[str, Any]) -> dict[str, Any]:
    """DistributedDataParallel's options: a device_id is one of its device_ids, if it is no CPU."""
    if "device_id" not in options:
        return options
    given = dict(options)
    device = given.pop("device_id")
    on_cpu = isinstance(device, torch.device) and device.type == "cpu"
    return {**given, "device_ids": None if on_cpu else [device]}


class DDP:
    """What replicate() adds to a module's class."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of the module's own class: slices of containers are not replicated."""
        plain: Any = cls.__mro__[2]
        return plain.__new__(plain, *args, **kwargs)

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Say whether the backwards of later calls reduce gradients."""
        replicate.state(self)._no_sync = not requires_gradient_sync

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        """DistributedDataParallel.register_comm_hook, before the first call."""
        replicate.state(self)._comm_hook_args.append((args, kwargs))


def _no_deepcopy(*args: Any, **kwargs: Any) -> NoReturn:
    raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")


@contract(state_cls=_ReplicateState)
def replicate(
    module: nn.Module, ignored_modules: Iterable[nn.Module] | None = None, **kwargs: Any
) -> nn.Module:
    """Have all ranks train copies of a module, in place; the module, whose class has DDP's methods.

    Modules that are ignored, or that fully_shard manages, are left out. Keywords: those of
    DistributedDataParallel, and device_id, a number or device, which may be the CPU.
    """
    if "device_id" in kwargs and not isinstance(kwargs["device_id"], (int, torch.device)):
        raise RuntimeError(
            f"Expected device_id to be int or torch.device, but got {type(kwargs['device_id'])}"
        )
    if _is_fully_sharded(module):
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    state = replicate.state(module)
    state.module, state._ignored, state._options = module, set(ignored_modules or ()), kwargs
    module.register_forward_pre_hook(state.before, with_kwargs=True)
    module.register_forward_hook(state.after)
    kind: Any = module.__class__
    module.__class__ = type(f"DDP{kind.__name__}", (DDP, kind), {"__deepcopy__": _no_deepcopy})
    return module


def _is_fully_sharded(module: nn.Module) -> bool:
    """Whether fully_shard manages a module."""
    registry = _get_registry(module) or {}
    return "fully_shard" in registry or "_fsdp_managed" in module.__dict__
