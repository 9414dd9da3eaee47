"""torch._jit_internal: the marks for TorchScript that libraries' code takes from there."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from rushlight._engine.core import callers
from rushlight.jit import (
    Final as Final,
    _overload as _overload,
    _overload_method as _overload_method,
    export as export,
    ignore as ignore,
    is_scripting as is_scripting,
    unused as unused,
)

__all__: list[str] = []


class FunctionModifiers:
    """What `_torchscript_modifier` of a function may be."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"


class BroadcastingListCls:
    """`BroadcastingList2[int]` in an annotation: an int, or two of them."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1


def get_callable_argument_names(fn: Any) -> list[str]:
    """The names of the arguments that are given by place or name; none where there is no signature."""
    try:
        formal = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return []
    return [name for name, p in formal.items() if p.kind is p.POSITIONAL_OR_KEYWORD]


def is_optional(ann: Any) -> bool:
    """Whether an annotation says that something may be None."""
    if ann is typing.Optional:
        raise RuntimeError(
            "Attempted to use Optional without a contained type. Please add a contained type, e.g. "
            "Optional[int]"
        )
    return type(None) in typing.get_args(ann) and typing.get_origin(ann) in (typing.Union, types.UnionType)


def check_empty_containers(obj: Any) -> None:
    """Warn of an empty list, dict or tuple, of which nobody can tell what it would hold."""
    if isinstance(obj, (list, dict, tuple)) and not obj:
        callers.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For "
            "example, List[int] would become list and therefore falsely return True for List[float] or "
            "List[str]."
        )


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a method that a scripted module takes over as it is."""
    setattr(fn, "_torchscript_modifier", FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)
    return fn


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that is `if_true` or `if_false`, by its argument `arg_name`, at place `arg_index`."""
    documented = if_true if if_true.__doc__ is not None else if_false

    @wraps(documented)
    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__module__, fn.__name__ = module_name or fn.__module__, func_name or fn.__name__
    return fn


@contextmanager
def _disable_emit_hooks() -> Iterator[None]:
    """Nothing: no hooks are called with what is compiled. Also a decorator."""
    yield
