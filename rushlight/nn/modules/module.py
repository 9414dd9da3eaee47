"""Module, the base class of all layers and models.

Its four parts: the tree of children (tree.py), hooks (hooks.py), state dicts (state.py), moving
and casting (conversion.py). Here: registration, attributes, the call, copying, and the tables that
all parts use, which __init__ makes.

Invariants: a name is in at most one of `_parameters`, `_buffers`, `_modules` and the instance's
own attributes; what is in the first three is found by __getattr__.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import rushlight as torch
from rushlight._engine.lazy import all_subclasses
from rushlight.nn.modules.base import hooks
from rushlight.nn.modules.base.conversion import Conversion
from rushlight.nn.modules.base.state import _EXTRA_STATE_KEY_SUFFIX, State, _IncompatibleKeys
from rushlight.nn.modules.base.tree import Tree, _addindent
from rushlight.nn.parameter import Buffer, Parameter

# Hooks of all modules. PyTorch has them here, where programs put fresh tables in their place.
_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
# Whether the global backward hooks are full ones; None before there are any.
_global_is_full_backward_hook: bool | None = None

_TABLES = ("_parameters", "_buffers", "_modules")
_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Define the computation; every subclass does."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _has_any_global_hook() -> bool:
    """Whether hooks of all modules are registered."""
    return bool(
        _global_forward_hooks
        or _global_forward_pre_hooks
        or _global_backward_hooks
        or _global_backward_pre_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


def __getattr__(name: str) -> Any:
    # PyTorch's programs look for global hooks here.
    return getattr(hooks, name)


class Module(Tree, hooks.Hooks, State, Conversion):
    """Base class of layers and models: subclass it, call super().__init__() first, and define `forward`.

    Parameters, buffers and modules that are assigned to attributes are registered: they show in parameters(),
    state_dict() and children(), and follow to(). Call the module, not forward: hooks run around it then.
    `training` is True until eval(). NotImplementedError from a class without a forward.
    """

    __subclasses__ = all_subclasses("rushlight.nn.modules")
    dump_patches: bool = False
    _version = 1
    call_super_init: bool = False
    _lacking: dict[str, Any] = {}
    _compiled_call_impl: Callable[..., Any] | None = None
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword "
                    f"argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but "
                    f"{len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        for name in _TABLES:
            own[name] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for name in _HOOK_TABLES:
            own[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- the call ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward, between the hooks that are registered: what forward gives, or what a hook puts in its
        place.
        """
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
            or self._compiled_call_impl is not None
        ):
            return self._wrapped_call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's calls in place; arguments as of torch.compile."""
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # --- registration -----------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: torch.Tensor | None, persistent: bool = True) -> None:
        """Add a tensor (or None) that is state but not a parameter: it follows to(), and with `persistent` is
        in state_dict().

        TypeError for what is no tensor; KeyError for a name that is taken, empty or has a dot.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = _hooked(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a Parameter; None reserves the name (and is in no state dict).

        TypeError for what is no Parameter, ValueError for one that is not a leaf, KeyError for a name that is
        taken, empty or has a dot.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, "parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters "
                f"must be created explicitly. To express '{name}' as a function of "
                "another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _hooked(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Add a child; None reserves the name. TypeError for what is no module, KeyError for a bad or taken
        name.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        self._modules[name] = _hooked(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Same as add_module."""
        self.add_module(name, module)

    # --- attributes -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_modules" in own:
            if name in own["_modules"]:
                return own["_modules"][name]
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            if name in own["_parameters"]:
                self._set_registered(name, value)
            _forget(self, name, "_modules")
            own["_modules"][name] = _hooked(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, torch.Tensor):
            self._set_tensor(name, value)
        elif "_modules" in own and (
            name in own["_parameters"] or name in own["_modules"] or name in own["_buffers"]
        ):
            self._set_registered(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_tensor(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, "_parameters")
            self.register_parameter(name, value)
        elif "_parameters" in own and (
            name in own["_parameters"] or name in own["_modules"] or name in own["_buffers"]
        ):
            self._set_registered(name, value)
        elif isinstance(value, Buffer):
            if "_buffers" not in own:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            if name in own:
                raise KeyError(f"attribute '{name}' already exists")
            _forget(self, name, "_buffers")
            self._add_buffer(name, value, getattr(value, "persistent", True))
        else:
            object.__setattr__(self, name, value)

    def _add_buffer(self, name: str, value: Any, persistent: bool) -> None:
        """register_buffer, also of a subclass whose own knows nothing of `persistent`."""
        own = type(self).register_buffer
        if own is Module.register_buffer or "persistent" in inspect.signature(own).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                "without the persistent argument is not allowed."
            )

    def _set_registered(self, name: str, value: Any) -> None:
        """Replace what is registered under a name: by None, or a buffer by a tensor."""
        if name in self._buffers:
            if value is not None and not _is_tensor_like(value):
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            persistent = name not in self._non_persistent_buffers_set
            if isinstance(value, Buffer):
                persistent = getattr(value, "persistent", persistent)
            self._add_buffer(name, value, persistent)
            return
        if value is not None:
            what, kind = (
                ("parameter", "torch.nn.Parameter")
                if name in self._parameters
                else ("child module", "torch.nn.Module")
            )
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as {what} '{name}' ({kind} or None expected)"
            )
        if name in self._parameters:
            self.register_parameter(name, None)
        else:
            self._modules[name] = _hooked(_global_module_registration_hooks, self, name, None)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(self.__class__), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    # --- copying ----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Modules pickled by older programs lack the attributes and tables that came later.
        for name, value in self._lacking.items():
            if not hasattr(self, name):
                self.__dict__[name] = value
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


def _hooked(hooks: Any, module: Module, name: str, value: Any) -> Any:
    for hook in hooks.values():
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value


def _forget(module: Module, name: str, keep: str) -> None:
    """Remove a name from everywhere but the table `keep`, before it is registered there."""
    own = module.__dict__
    own.pop(name, None)
    for table in _TABLES:
        if table != keep:
            own[table].pop(name, None)
    own["_non_persistent_buffers_set"].discard(name)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__")


def _check_name(module: Module, what: str, name: Any, table: dict[str, Any]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {torch.typename(name)}")
    taken = hasattr(module, name) and name not in table
    if taken and what == "module":
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        got = f", got: {name}" if what == "module" else ""
        raise KeyError(f'{what} name can\'t contain "."{got}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if taken:
        raise KeyError(f"attribute '{name}' already exists")
