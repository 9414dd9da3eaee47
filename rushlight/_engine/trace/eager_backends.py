"""compile's backends that change nothing: the function as it is, looked at once if it must be one graph."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from rushlight._engine.core.errors import Unsupported
from rushlight._engine.core.recording import TAPE
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.choice import Matched
from rushlight._engine.trace.effects.contents import is_module
from rushlight._engine.trace.effects.instructions import items_read
from rushlight._engine.trace.guards import key_of
from rushlight._engine.trace.recorder import Recorder, recording
from rushlight._engine.trace.trace import Node, Trace
from rushlight._engine.transforms.levels import Wrapped, active


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
        if self._by_name:
            places = (*self._by_place, *[None] * len(args))
            args = tuple(map(_seen, args, places))
            kwargs = {name: _seen(v, self._by_name.get(name)) for name, v in kwargs.items()}
        levels = active()
        if not levels:
            return key_of(args, kwargs)[1]
        key = key_of(tuple(map(_held, args)), {name: _held(v) for name, v in kwargs.items()})[1]
        within = [(level.__class__, getattr(level, "randomness", "")) for level in levels]
        return None if key is None else (key, *map(_depth, args), *within)


def _held(value: Any) -> Any:
    """What a tensor of transforms holds; another value as it is."""
    while isinstance(value, Wrapped):
        value = value.value
    return value


def _depth(value: Any) -> tuple[int, ...]:
    """The levels of the transforms that a tensor is of, the innermost first."""
    found = []
    while isinstance(value, Wrapped):
        found.append(value.level.number)
        value = value.value
    return tuple(found)


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


# Of how many kinds of a function's arguments graphs are counted.
MOST_TOLD = 8


class _Unmade:
    """No program: the call was computed as it was recorded."""

    def __init__(self, *of: Any) -> None:
        self.of = of

    def run(self, arrays: dict[int, Any], region: Any) -> None:
        """Nothing."""

    def prepare(self, arrays: dict[int, Any]) -> None:
        """Nothing."""


def heard(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Trace, Any]:
    """What a call did, and gave; nothing is compiled."""
    trace = Trace()
    trace.ends, trace.program = [], _Unmade
    return trace, Matched(trace).call(trace.root, function, args, kwargs)


def segments(trace: Trace) -> list[list[Node]]:
    """The ops of one call, by the graphs that they are of."""
    found, node = list[list[Node]](), trace.root
    while node.flushed:
        node = next(iter(node.flushed.values()))
        ops: list[Node] = []
        while node.next:
            node = next(iter(node.next.values()))
            if node.said is not None and not getattr(node.said[1], "silent", False):  # no mark
                ops.append(node)
        if ops:
            found.append(ops)
    return found


class Eager:
    """Calls the function; with fullgraph=True the first call of each kind is recorded and looked at.

    told: without it, is told the ops of the graphs that such a call falls into, and why graphs end, of the
    first MOST_TOLD kinds.
    """

    # As of Compiled: calls always come here, and may ask.
    rests, asked = (), False

    def __init__(
        self, function: Callable[..., Any], fullgraph: bool, told: Callable[..., None] | None = None
    ) -> None:
        self.function, self.fullgraph, self.told = function, fullgraph, told
        self.plans: dict[Any, str] = {}
        self.key = Reads(function).key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = None if TAPE else self.key(args, kwargs)
        if key is None or key in self.plans:
            return self.function(*args, **kwargs)
        if not self.fullgraph:
            return self._first(key, args, kwargs)
        recorder = Recorder((), ())
        with recording(recorder):
            found = self.function(*args, **kwargs)
        if recorder.broken:
            raise Unsupported(f"fullgraph=True, but the graph ends early: {recorder.broken}")
        self.plans[key] = ""
        return found

    def _first(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of another kind."""
        self.plans[key] = ""
        if self.told is None or len(self.plans) > MOST_TOLD:
            return self.function(*args, **kwargs)
        trace, found = heard(self.function, args, kwargs)
        self.told(segments(trace), [why for why, _, breaks in trace.ends or () if breaks])
        return found

    def reset(self) -> None:
        """Forget which kinds of arguments were looked at."""
        self.plans.clear()
