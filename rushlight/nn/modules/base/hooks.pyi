# Written by `python tools/stubs.py`.
"""Hooks of modules: how they are registered, on one module or on all, and the call that runs them.

A module without hooks never gets here: Module.__call__ goes straight to forward().
"""
from collections.abc import Callable
from rushlight.nn.modules.base.tables import Tables
from rushlight.utils.hooks import RemovableHandle
from typing import Any

class Hooks(Tables):
    """The part of Module that runs hooks around forward and backward."""

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: use register_full_backward_hook."""
    def register_forward_hook(self, hook: Callable[[Any, Any, Any], Any] | Callable[[Any, Any, Any, Any], Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; a result replaces the output.

        `with_kwargs`: `hook(module, args, kwargs, output)`. `always_call`: also when forward
        raised. `prepend`: before the hooks already there. Returns a handle with `remove()`.
        """
    def register_forward_pre_hook(self, hook: Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before forward; a result replaces the arguments.

        `with_kwargs`: `hook(module, args, kwargs)`, which returns None or (args, kwargs).
        `prepend`: before the hooks already there. Returns a handle with `remove()`.
        """
    def register_full_backward_hook(self, hook: Callable[[Any, Any, Any], Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once the inputs' gradients are known."""
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's gradients are computed."""
class _WrappedHook:
    """A hook that gets its module as first argument, held weakly (so that it can be copied)."""

    hook: Callable[..., Any]
    module: Any
    with_module: Any
    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
def _check_kind(before: bool | None, full: bool, where: str) -> None: ...
def _claim_global(full: bool) -> None: ...
def _tables() -> Any:
    """The module whose variables the global tables are: a program may put others in their place."""
def _traced() -> bool:
    """Whether torch.jit.trace records this."""
def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: use register_module_full_backward_hook."""
def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, buffer)` on every registration; a result replaces the buffer."""
def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """`hook(module, args, output)` after every module's forward; a result replaces the output."""
def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` before every module's forward; a result replaces the arguments."""
def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` after every module's backward."""
def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_output)` before every module's backward."""
def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, submodule)` on every registration; a result replaces the submodule."""
def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, param)` on every registration; a result replaces the parameter."""
