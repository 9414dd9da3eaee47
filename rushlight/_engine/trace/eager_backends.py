"""compile's backends that change nothing: the function as it is, looked at once if it must be one graph."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.recording import TAPE
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.effects.contents import is_module
from rushlight._engine.trace.effects.instructions import items_read
from rushlight._engine.trace.guards import key_of
from rushlight._engine.trace.recorder import Recorder, recording


class Reads:
    """What a function reads of its arguments: others of their items make no call one of another kind."""

    def __init__(self, function: Any) -> None:
        code = code_of(function)
        read = items_read(code) if code is not None else {}
        names = code.co_varnames[: code.co_argcount] if code is not None else ()
        self._by_name = read
        self._by_place = [read.get(name) for name in names[hasattr(_called(function), "__self__") :]]

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """key_of's, of what is read."""
        if not self._by_name:
            return key_of(args, kwargs)[1]
        places = (*self._by_place, *[None] * len(args))
        seen = tuple(map(_seen, args, places))
        return key_of(seen, {name: _seen(v, self._by_name.get(name)) for name, v in kwargs.items()})[1]


def _seen(value: Any, read: frozenset[Any] | None) -> Any:
    """A list, tuple or dict with None for items that are not read, and None for what is not looked at at all;
    other values as they are.
    """
    if read is None or isinstance(value, Tensor):
        return value
    if not read:
        return None
    if type(value) is dict:
        return {key: item if key in read else None for key, item in value.items()}
    if type(value) in (list, tuple):
        size = len(value)
        return type(value)(v if i in read or i - size in read else None for i, v in enumerate(value))
    return value


def _called(function: Any) -> Any:
    """The function or method that a call comes to: of a module's __call__, its forward."""
    owner: Any = getattr(function, "__self__", None)
    return owner.forward if is_module(owner) and function.__qualname__ == "Module.__call__" else function


def code_of(function: Any) -> CodeType | None:
    """The code of a function or a method, or of a module's forward."""
    called = _called(function)
    return getattr(getattr(called, "__func__", called), "__code__", None)


class Eager:
    """Calls the function; with fullgraph=True the first call of each kind is recorded and looked at."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.plans: dict[Any, str] = {}
        self.key = Reads(function).key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = None if TAPE else self.key(args, kwargs)
        if key is not None and not self.fullgraph:
            self.plans[key] = ""
        if key is None or key in self.plans:
            return self.function(*args, **kwargs)
        recorder = Recorder((), ())
        with recording(recorder):
            found = self.function(*args, **kwargs)
        if recorder.broken:
            raise Unsupported(f"fullgraph=True, but the graph ends early: {recorder.broken}")
        self.plans[key] = ""
        return found

    def reset(self) -> None:
        """Forget which kinds of arguments were looked at."""
        self.plans.clear()
