"""What programs say about their own functions and values; all of it does nothing, or little, in Python."""

from __future__ import annotations

import builtins
import sys
import typing
from collections import namedtuple
from collections.abc import Callable
from typing import (  # the last four: programs take them from here
    Any,
    Dict as Dict,
    Final,
    Generic,
    List as List,
    Optional as Optional,
    Tuple as Tuple,
    TypeVar,
)

from rushlight.jit.state import tracing

T = TypeVar("T")
Attribute = namedtuple("Attribute", ["value", "type"])


class Future(Generic[T]):
    """What fork gives; wait() is its result, which is there already."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value

    value = wait


class _IgnoreContextManager:
    """`with` around statements that stay Python in compiled code. Its keywords say which variables go in and
    come out, and their types: a="inp:int", b="out:List[int]".
    """

    def __init__(self, **kwargs: str) -> None:
        self.variables = kwargs

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *error: object) -> None:
        """Nothing."""


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`; compiled code takes it for a `the_type`."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """isinstance that knows List[int] and its like."""
    from rushlight._jit_internal import check_empty_containers  # it imports this file
    from rushlight.jit.program.execute import accepts  # what it needs, jit, imports this file
    from rushlight.jit.program.types import GENERICS, from_python

    check_empty_containers(obj)
    targets = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    if builtins.isinstance(target_type, (list, set, dict)):
        raise RuntimeError("The second argument to `torch.jit.isinstance` must be a type or a tuple of types")
    bare = [t for t in targets if t in GENERICS]
    if bare:
        try:
            from_python(bare[0])
        except TypeError as error:  # a list of what?
            raise RuntimeError(str(error)) from None
    return any(accepts(obj, from_python(t)) for t in targets)


def is_scripting() -> bool:
    """Whether this runs compiled: False in Python, True in compiled code."""
    return False


def is_tracing() -> bool:
    """Whether torch.jit.trace records what runs."""
    return bool(tracing())


def _marked(fn: Any, modifier: str) -> Any:
    target: Any = fn.fget if builtins.isinstance(fn, property) else fn
    target._torchscript_modifier = modifier
    return fn


def export(fn: Any) -> Any:
    """Compile this method too, though forward does not call it."""
    return _marked(fn, "export")


def _drop(fn: Any) -> Any:
    """Leave this method out: compiled code that calls it is refused."""
    return _marked(fn, "drop")


def _unwrap_optional(x: Any) -> Any:
    """x; AssertionError for None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def unused(fn: Any) -> Any:
    """Do not compile this method: calls of it raise in compiled code."""
    return _marked(fn, "unused")


def _overload(fn: Any) -> Any:
    """A signature that comes before the function of this name: a call in a script compiles that for the first
    of its signatures that takes the arguments.
    """
    from rushlight.jit.declarations import declare  # nn imports this file

    declare(_declaration(fn))
    return fn


def _overload_method(fn: Any) -> Any:
    """A signature that comes before the method of this name, of a module: a call in a script compiles that
    for the first of its signatures that takes the arguments.
    """
    from rushlight.jit.declarations import declare_method  # nn imports this file

    _declaration(fn)
    body = sys._getframe(1).f_code
    declare_method(fn, body.co_name, body.co_firstlineno)
    return fn


def _declaration(fn: Any) -> Any:
    """fn, known to be a declaration."""
    from rushlight.jit.declarations import check_declaration  # nn imports this file

    fn._torchscript_overload = True
    check_declaration(fn)
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave this function to Python; with drop=True calls of it raise in compiled code."""
    if callable(drop):
        return _marked(drop, "ignore")
    return lambda fn: unused(fn) if drop else _marked(fn, "ignore")


def interface(obj: Any) -> Any:
    """The class names methods that modules, or objects, of several types have."""
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    from rushlight.nn.modules.module import Module  # nn imports this file

    if obj.__bases__ not in ((object,), (Module,)):
        raise RuntimeError(
            "TorchScript interface does not support inheritance yet. Please directly inherit from "
            "'object' or 'nn.Module'."
        )
    setattr(obj, "__torch_script_interface__", True)
    return obj


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Run `func` now, and give a Future of its result."""
    return Future(func(*args, **kwargs))


def wait(future: Any) -> Any:
    """The result of a Future."""
    if future is None:
        raise RuntimeError("Future can't be None")
    return future.wait()


__all__ = [
    "Attribute",
    "Final",
    "Future",
    "annotate",
    "export",
    "fork",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "typing",
    "unused",
    "wait",
]
