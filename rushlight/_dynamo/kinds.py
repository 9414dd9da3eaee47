"""When a backend is given a graph again: for arguments of another kind, and sizes that no graph serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

from rushlight import fx
from rushlight._dynamo import config
from rushlight._dynamo.inputs import Call
from rushlight._engine.core.switches import switches
from rushlight._engine.lazy import is_ours
from rushlight._engine.tensors.tensor import Tensor
from rushlight.backends import cuda
from rushlight.nn import Module

# Values that a function of Python branches on, and that seldom change.
_FIXED = (bool, str, bytes, type(None), type)


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a graph is made anew for, beside what its ops say: classes of arguments, lengths, the keys of
    dicts in their order, strings and truth values, also those of objects' attributes; which are one tensor.

    Numbers and sizes are left out: they are seen in the ops. None for a container that holds itself.
    """
    parts: list[Any] = [switches(), cuda.matmul.allow_tf32]
    tensors: dict[int, int] = {}
    try:
        for value in args:
            _describe(value, parts, tensors, 0)
        for name, value in kwargs.items():
            parts.append(name)
            _describe(value, parts, tensors, 0)
    except RecursionError:
        return None
    return tuple(parts)


def _describe(value: Any, parts: list[Any], tensors: dict[int, int], depth: int) -> None:
    cls = value.__class__
    parts.append(cls)
    if isinstance(value, Tensor):
        parts.append(tensors.setdefault(id(value), len(tensors)))
    elif cls in _FIXED:
        parts.append(value)
    elif isinstance(value, (list, tuple)):
        parts.append(len(value))
        for item in value:
            _describe(item, parts, tensors, depth)
    elif isinstance(value, dict):
        for key, item in value.items():
            parts.append((key.__class__, key if key.__class__ in (str, int) else id(key)))
            _describe(item, parts, tensors, depth)
        parts.append(len(value))
    elif isinstance(value, FunctionType):
        parts.append(value.__code__)
    elif not (depth or isinstance(value, (Module, MethodType)) or is_ours(cls)):
        for name, item in getattr(value, "__dict__", _NOTHING).items():
            parts.append(name)
            _describe(item, parts, tensors, 1)


_NOTHING: dict[str, Any] = {}
_Shapes = tuple[tuple[int, ...], ...]


class Sizes:
    """Whether sizes are to be free, as compile's `dynamic` says: None, once they have differed. call: the one
    that runs.
    """

    dynamic: bool | None = None
    call: Call | None = None


class SizesOfKind:
    """Graphs of one kind of arguments that a backend gave back as they were: these compute the same ops at
    other sizes, too.

    So it is not asked again where PyTorch has a graph of free sizes: with dynamic=True, and without a
    `dynamic` in those dims that have differed. A size of 0 or 1 is never free.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        # By what the graph says: (sizes that it was made for, dims that are free, the graph).
        self._made: dict[Any, list[tuple[_Shapes, set[tuple[int, int]], Callable[..., Any]]]] = {}

    @staticmethod
    def said(module: fx.GraphModule) -> Any:
        """The text of a graph, and the functions that it calls: several may have one name."""
        return module.code, *[n.target for n in module.graph.nodes if n.op == "call_function"]

    def known(self, said: Any, inputs: Sequence[Tensor]) -> Callable[..., Any] | None:
        """What runs a graph that says this at these sizes, if that is there."""
        if self.sizes.dynamic is False:
            return None
        shapes = _shapes(inputs)
        for made, free, compiled in self._made.get(said, ()):
            if made != shapes and _serves(made, free, shapes):  # at these sizes it is another place's graph
                return compiled
        return None

    def note(
        self, module: fx.GraphModule, said: Any, inputs: Sequence[Tensor], compiled: Callable[..., Any]
    ) -> None:
        """The backend has made this of it."""
        if compiled is not module and getattr(compiled, "__self__", None) is not module:
            return
        shapes, free = _shapes(inputs), set[tuple[int, int]]()
        if self.sizes.dynamic or not (self.sizes.dynamic is None and config.assume_static_by_default):
            free = {(i, d) for i, shape in enumerate(shapes) for d, n in enumerate(shape) if n > 1}
        made = self._made.setdefault(said, [])
        for before, known, _ in made if config.automatic_dynamic_shapes else ():
            if list(map(len, before)) == list(map(len, shapes)):
                free |= known | _differing(before, shapes)
        made.append((shapes, free, compiled))


def _shapes(inputs: Sequence[Tensor]) -> _Shapes:
    return tuple([tuple(t.shape) for t in inputs])


def _differing(first: _Shapes, second: _Shapes) -> set[tuple[int, int]]:
    """Dims of inputs that differ, and are more than one in both."""
    return {
        (i, d)
        for i, (a, b) in enumerate(zip(first, second, strict=True))
        for d, (m, n) in enumerate(zip(a, b, strict=True))
        if m != n and m > 1 and n > 1
    }


def _serves(made: _Shapes, free: set[tuple[int, int]], shapes: _Shapes) -> bool:
    """Whether a graph for these sizes serves others: free ones that were equal are so again."""
    if list(map(len, made)) != list(map(len, shapes)):
        return False
    meaning: dict[int, int] = {}
    for i, (a, b) in enumerate(zip(made, shapes, strict=True)):
        for d, (m, n) in enumerate(zip(a, b, strict=True)):
            if (i, d) not in free:
                if m != n:
                    return False
            elif n < 2 or meaning.setdefault(m, n) != n:
                return False
    return True
