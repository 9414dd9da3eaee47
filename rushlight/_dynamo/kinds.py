"""When a backend is given a graph again: for arguments of another kind, and sizes that no graph serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from rushlight import fx
from rushlight._dynamo import config
from rushlight._dynamo.inputs import Call
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.switches import switches
from rushlight._engine.lazy import is_ours
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.trace import told
from rushlight.backends import cuda
from rushlight.nn import Module

# Values that a function of Python branches on, and that seldom change.
_FIXED = (bool, str, bytes, type(None), type)


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a graph is made anew for, beside what its ops say: classes of arguments, lengths, the keys of
    dicts in their order, strings and truth values, also those of objects' attributes; which are one tensor;
    grad mode where the call begins, which a backend may ask for.

    Numbers and sizes are left out: they are seen in the ops. None for a container that holds itself.
    """
    parts: list[Any] = [switches(), cuda.matmul.allow_tf32, LOCAL.enabled]
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


class Same(int):
    """Which tensor one is, among a call's."""


def but_for_twins(kind: Any) -> Any:
    """The kind, whichever tensors are one: of two that are, a graph has one input."""
    return None if kind is None else tuple([part for part in kind if part.__class__ is not Same])


def _describe(value: Any, parts: list[Any], tensors: dict[int, int], depth: int) -> None:
    cls = value.__class__
    parts.append(cls)
    if isinstance(value, Tensor):
        parts.append(Same(tensors.setdefault(id(value), len(tensors))))
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
_Nodes = list[tuple[Any, ...]]


class Sizes:
    """Whether sizes are to be free, as compile's `dynamic` says: None, once they have differed. call: the one
    that runs.
    """

    dynamic: bool | None = None
    call: Call | None = None


class Said:
    """What the ops of a graph say, but for their numbers; and these."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self.numbers: list[Any] = []
        # Where the program has them.
        self.places: list[Any] = []

    @property
    def key(self) -> tuple[Any, ...]:
        """What graphs of the same ops have in common."""
        return tuple(self._parts)

    def add(self, *parts: Any) -> None:
        """Something that tells graphs apart."""
        self._parts += parts

    def call(self, row: Any, op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """An op on these arguments, tensors as places."""
        self.add(op, len(args), *kwargs)
        params = [] if row is None else list(row.params)
        by_name = {p.name: p for p in params}
        for i, value in enumerate(args):
            self._value(value, bool(params) and _is_fixed(params[min(i, len(params) - 1)]))
        for name, value in kwargs.items():
            self._value(value, name in by_name and _is_fixed(by_name[name]))

    def _value(self, value: Any, fixed: bool) -> None:
        cls = value.__class__
        if cls in (tuple, list):
            self.add(cls, len(value))
            for item in value:
                self._value(item, fixed)
        elif cls is slice:
            self.add(cls)
            for item in (value.start, value.stop, value.step):
                self._value(item, fixed)
        elif cls in _NUMBERS and not fixed:
            self.add(cls)
            self.numbers.append(repr(value))
        else:
            self.add(cls, told(value) or value)


_NUMBERS = (int, float)


def _is_fixed(param: Any) -> bool:
    """Whether another number makes another graph: which dims, and chances and such, which are no operands."""
    return param.type == "float" or any(word in param.name for word in ("dim", "axis", "groups"))


def numbers_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The numbers among a call's arguments, in the order of kind_of(): of calls of one kind as many. None of
    a call whose containers hold themselves.
    """
    found: list[str] = []
    try:
        _count([*args, *kwargs.values()], found, 0)
    except RecursionError:
        return []
    return found


def _count(values: Any, found: list[str], depth: int) -> None:
    for value in values:
        cls = value.__class__
        if cls in _NUMBERS:
            found.append(repr(value))
        elif isinstance(value, (list, tuple)):
            _count(value, found, depth)
        elif isinstance(value, dict):
            _count(value.values(), found, depth)
        elif not (depth or isinstance(value, (Tensor, Module, MethodType, FunctionType)) or is_ours(cls)):
            _count(getattr(value, "__dict__", _NOTHING).values(), found, 1)


class _Made(NamedTuple):
    """What a backend has made of a graph, for what, and what may be other than that: dims, numbers."""

    shapes: _Shapes
    layouts: Any
    free: set[tuple[int, int]]
    compiled: Callable[..., Any]
    module: fx.GraphModule
    nodes: _Nodes
    numbers: list[str]
    given: list[str]
    others: set[int]
    places: list[Any]


class SizesOfKind:
    """Graphs of one kind of arguments that a backend gave back as they were: these compute the same ops at
    other sizes and of other numbers, too.

    So it is not asked again where PyTorch has a graph of free sizes and numbers: with dynamic=True, and
    without a `dynamic` in those dims, and of those arguments, that have differed. A size of 0 or 1 is never
    free, nor are numbers that are no arguments of the call.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._made: dict[Any, list[_Made]] = {}
        # The numbers among the first call's arguments; those that have differed.
        self._first: list[str] | None = None
        self._others: set[int] = set()

    def _given(self) -> list[str]:
        call = self.sizes.call
        return [] if call is None else numbers_of(call.args, call.kwargs)

    def known(self, said: Said, module: fx.GraphModule, inputs: Sequence[Tensor]) -> Any:
        """What runs a graph that says this at these sizes, if that is there."""
        if self.sizes.dynamic is False:
            return None
        shapes, given, layouts = _shapes(inputs), self._given(), _layouts(inputs)
        for made in self._made.get(said.key, ()):
            others = _unequal(made.given, given)
            if made.shapes == shapes and not others:
                if (made.places, made.numbers, made.layouts) == (said.places, said.numbers, layouts):
                    return made.compiled  # a loop comes to the same place again
                continue  # it is another place's graph
            if others is None or not others <= made.others or made.layouts != layouts:
                continue
            if made.shapes == shapes or _serves(made.shapes, made.free, shapes):
                if made.numbers == said.numbers:
                    return made.compiled
                found = _left_as_it_was(made, module)
                if found is not None:
                    return found
        return None

    def note(
        self,
        module: fx.GraphModule,
        said: Said,
        inputs: Sequence[Tensor],
        nodes: _Nodes,
        compiled: Callable[..., Any],
    ) -> None:
        """The backend, given a graph of these nodes, has made this of it."""
        given, dynamic = self._given(), self.sizes.dynamic
        if self._first is None:
            self._first = given
        if dynamic or not (dynamic is None and config.assume_static_by_default):
            self._others = set(range(len(given)))
        elif config.automatic_dynamic_shapes:
            self._others |= _unequal(self._first, given) or set()
        if compiled is not module and getattr(compiled, "__self__", None) is not module:
            return
        shapes, free = _shapes(inputs), set[tuple[int, int]]()
        if dynamic or not (dynamic is None and config.assume_static_by_default):
            free = {(i, d) for i, shape in enumerate(shapes) for d, n in enumerate(shape) if n > 1}
        several = self._made.setdefault(said.key, [])
        for before in several if config.automatic_dynamic_shapes else ():
            if list(map(len, before.shapes)) == list(map(len, shapes)):
                free |= before.free | _differing(before.shapes, shapes)
        numbers, others = said.numbers, set(self._others)
        of = shapes, _layouts(inputs), free, compiled, module, nodes
        several.append(_Made(*of, numbers, given, others, said.places))


def nodes_of(module: fx.GraphModule) -> _Nodes:
    """What a graph's nodes say now: a backend may change them in their places."""
    return [(n.op, n.target, n.args, n.kwargs) for n in module.graph.nodes]


def _left_as_it_was(made: _Made, module: fx.GraphModule) -> Any:
    """What runs the graph of other numbers, if the backend did nothing to the one that it was given."""
    by: Any = made.compiled
    if made.nodes != nodes_of(made.module):
        return None
    if by is made.module:
        return module
    name = by.__name__
    return getattr(module, name) if getattr(type(made.module), name, None) is by.__func__ else None


def _unequal(first: list[str], second: list[str]) -> set[int] | None:
    """Which numbers differ; None where there are more of them."""
    if len(first) != len(second):
        return None
    return {i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b}


def _shapes(inputs: Sequence[Tensor]) -> _Shapes:
    return tuple([tuple(t.shape) for t in inputs])


def _layouts(inputs: Sequence[Tensor]) -> Any:
    """What is never free: a backend may have changed its graph for these."""
    return tuple([(t.dtype, t.is_contiguous()) for t in inputs])


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
