# Written by `python tools/stubs.py`.
"""Module, the base class of all layers and models.

Its four parts: the tree of children (tree.py), hooks (hooks.py), state dicts (state.py), moving
and casting (conversion.py). Here: registration, attributes, the call, copying, and the tables that
all parts use, which __init__ makes.

Invariants: a name is in at most one of `_parameters`, `_buffers`, `_modules` and the instance's
own attributes; what is in the first three is found by __getattr__.
"""
from builtins import type as _type
from collections.abc import Callable
from rushlight import Tensor
from rushlight.nn.modules.base.conversion import Conversion
from rushlight.nn.modules.base.hooks import Hooks
from rushlight.nn.modules.base.state import State
from rushlight.nn.modules.base.tree import Tree
from typing import Any, ParamSpec, Protocol, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
class _Forward(Protocol[_P, _R]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class Module(Tree, Hooks, State, Conversion):
    """Base class of layers and models: subclass it, call super().__init__() first, and define `forward`.

    Parameters, buffers and modules that are assigned to attributes are registered: they show in parameters(),
    state_dict() and children(), and follow to(). Call the module, not forward: hooks run around it then.
    `training` is True until eval(). NotImplementedError from a class without a forward.
    """

    call_super_init: bool
    dump_patches: bool
    forward: Callable[..., Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward, between the hooks that are registered: what forward gives, or what a hook puts in its
        place.
        """
    def __delattr__(self, name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __setstate__(self, state: dict[str, Any]) -> None: ...
    @classmethod
    def __subclasses__(cls) -> list[_type[Any]]:
        """The classes made of this one."""
    T_destination: Any
    def add_module(self, name: str, module: Any) -> None:
        """Add a child; None reserves the name. TypeError for what is no module, KeyError for a bad or taken
        name.
        """
    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's calls in place; arguments as of torch.compile."""
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor (or None) that is state but not a parameter: it follows to(), and with `persistent` is
        in state_dict().

        TypeError for what is no tensor; KeyError for a name that is taken, empty or has a dot.
        """
    def register_module(self, name: str, module: Any) -> None:
        """Same as add_module."""
    def register_parameter(self, name: str, param: Any) -> None:
        """Add a Parameter; None reserves the name (and is in no state dict).

        TypeError for what is no Parameter, ValueError for one that is not a leaf, KeyError for a name that is
        taken, empty or has a dot.
        """
def _check_name(module: Module, what: str, name: Any, table: dict[str, Any]) -> None: ...
def _forget(module: Module, name: str, keep: str) -> None:
    """Remove a name from everywhere but the table `keep`, before it is registered there."""
def _forward_unimplemented(self: Any, *input: Tensor) -> None:
    """Define the computation; every subclass does."""
def _has_any_global_hook() -> bool:
    """Whether hooks of all modules are registered."""
def _hooked(hooks: Any, module: Module, name: str, value: Any) -> Any: ...
def _is_tensor_like(value: Any) -> bool: ...
