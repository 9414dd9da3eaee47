# Written by `python tools/stubs.py`.
"""state_dict() and load_state_dict(): a module's persistent tensors by dotted path."""
from collections.abc import Callable, Mapping
from rushlight.nn.modules.base.tables import Tables
from rushlight.utils.hooks import RemovableHandle
from typing import Any

class State(Tables):
    """The part of Module that reads and writes state dicts."""

    def get_extra_state(self) -> Any:
        """What else `state_dict()` should hold; override it together with set_extra_state()."""
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the tensors of a state dict into this module's; returns the keys that did not match.

        `strict` makes missing and unexpected keys an error. `assign` takes the given tensors
        themselves instead of copying their values. All errors are collected into one RuntimeError,
        and a failed load leaves the module as it was.
        """
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` may change the lists of keys in place."""
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call the hook before this module's state is loaded; it may change the arguments.

        `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`.
        """
    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` may change the state dict in place."""
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` is called before the state is read."""
    def set_extra_state(self, state: Any) -> None:
        """Receive from `load_state_dict()` what get_extra_state() returned."""
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = '', keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted path, in an OrderedDict.

        The tensors share memory with the module's; `keep_vars` gives the very Parameters.
        """
class _Backup:
    """A copy of all tensors of a module, made before a load that is likely to fail."""

    saved: Any
    def __init__(self, module: Any) -> None: ...
    def restore(self) -> None: ...
class _IncompatibleKeys(tuple[Any, ...]):
    missing_keys: Any
    unexpected_keys: Any
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
def _exchange(current: Any, given: Any, assign: bool) -> None:
    """Make a parameter or buffer all that its `module_load` answers."""
def _fits(module: Any, state_dict: Any, strict: bool) -> bool:
    """Whether keys and shapes agree, so that the load cannot fail half-way."""
def _kept(module: Any) -> dict[str, Any]:
    """A module's own tensors that are in its state dict."""
def _key_errors(missing: list[str], unexpected: list[str]) -> list[str]: ...
def _load(module: Any, state_dict: Any, prefix: str, metadata: Any, assign: bool, strict: bool, report: tuple[list[str], list[str], list[str]]) -> None: ...
def _positional(args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool) -> tuple[Any, str, bool]: ...
def _suits(current: Any, given: Any, strict: bool) -> bool: ...
def _warn_meta(key: str) -> None: ...
