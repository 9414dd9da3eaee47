"""Levels: one running vmap or forward-mode derivative each, and the tensors that are wrapped in them.

A level is an interpreter in the dispatcher. A wrapped tensor looks like one example (vmap) or like its primal
(forward mode): shape, dtype and place in the graph are those of what it holds. An op on wrapped tensors
goes to the innermost level first, which says it in ops on what is inside. Reverse mode has no wrappers: it
is the ordinary graph, recorded by the ops that are left at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Self, TypeVar

from rushlight._engine.autograd.in_place import View, remember, view_chain, view_of
from rushlight._engine.core.device import device
from rushlight._engine.dispatch import arguments, interpreters
from rushlight._engine.dispatch.overrides import past_interpreters
from rushlight._engine.dispatch.runners import pointwise
from rushlight._engine.tensors.gradient import refuse_switch
from rushlight._engine.tensors.tensor import WRAPPED, Tensor, alias, storage


class _Running(threading.local):
    """The derivatives in forward mode that run in this thread, the innermost last."""

    enabled = True  # outside of all of them: whether tangents are computed

    def __init__(self) -> None:
        self.levels: list[Any] = []


FORWARD = _Running()


class Level(interpreters.Interpreter):
    """One running transform; as a context, it stands in the dispatcher."""

    number = 0
    alive = False
    what = ""
    only_wrapped = True  # what is not is the next one's

    def __enter__(self) -> Self:
        if not self.number:
            self.number = 1 + max((level.number for level in active()), default=0)
        self.alive = True
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.alive = False

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """An op: this level's if an operand is wrapped in it, else the next one's."""
        if not self.concerned(row, args, kwargs):
            if (
                interpreters.BELOW
                and not interpreters.STACK.modes
                and row.kind not in ("formula", "function")
            ):
                return past_interpreters(row, call)(*args, **kwargs)  # classes hear of it as outside
            return interpreters.interpret(row, call, args, kwargs)
        if row.kind == "formula":
            return self.formula(row, args)
        if row.kind == "function":
            return getattr(import_module("rushlight._engine.transforms.functions"), self.what)(
                self, row.of, args, kwargs
            )
        if row.name == "_to_dtype" and len(args) > 1 and isinstance(args[1], device):
            return self.through(args[0], lambda t: call(t, *args[1:]))
        params = pointwise.public_params(row)
        out = None if any(p.name == "out" for p in params) else kwargs.pop("out", None)
        bound = arguments.bind(row, args, kwargs, params)
        if bound.pop("inplace", False) or getattr(call, "writes", False):
            return self.write(bound[row.params[0].name], row, bound)
        if out is not None:
            return self.write(out, row, bound)
        found = self.apply(row, bound)
        if FORWARD.levels and (row.kind == "view" or row.options.get("is_view")):
            _note_views(row, bound, found)
        return found

    def concerned(self, row: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether an operand is wrapped in this level."""
        return any(self.holds(v) for v in operands((*args, *kwargs.values())))

    def apply(self, row: Any, bound: dict[str, Any]) -> Any:
        """A row on arguments by name."""
        if row.kind == "pointwise":
            return self.formula(*pointwise.resolve(row, bound))
        return self.rule(row, bound)

    def formula(self, formula: Any, values: Any) -> Any:
        """A pointwise expression."""
        raise NotImplementedError("abstract: Batching and Forward define it, and `rule` and `write`")

    rule = formula

    def through(self, t: Any, change: Callable[[Any], Any]) -> Any:
        """A tensor of this level with what it wraps changed, as by a copy to another device."""
        raise NotImplementedError("abstract: vmap's and forward mode's levels define it")

    def write(self, target: Any, row: Any, bound: dict[str, Any]) -> Any:
        """An op in place, or with out=: a level says how."""
        raise NotImplementedError("abstract: vmap's and forward mode's levels define it")

    def holds(self, value: Any) -> bool:
        """Whether `value` is wrapped in this very level."""
        return isinstance(value, Wrapped) and value.level is self

    def inside(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """body(...), its ops under this level again."""
        return interpreters.within(self, body, args, kwargs)


def _note_views(row: Any, bound: dict[str, Any], found: Any) -> None:
    """Let wrapped views know of what they are: a tangent that is written into one is its base's too."""
    name = row.params[0].name
    base = bound[name]
    for i, part in enumerate(found if isinstance(found, (tuple, list)) else (found,)):
        if not isinstance(part, Wrapped) or part is base or part._storage is None:
            continue

        def again(t: Any, number: int | None = i if part is not found else None) -> Any:
            taken = row(**{**bound, name: t})
            return taken if number is None else taken[number]

        part._view_of = (base, again, (), None)
        remember(part, storage(part))


def active() -> list[Level]:
    """This thread's levels, the innermost first."""
    return [mode for mode in reversed(interpreters.STACK.modes) if isinstance(mode, Level)]


def operands(values: Sequence[Any]) -> Iterator[Any]:
    """All tensors among arguments, also those in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from operands(value)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """`value` with change(tensor) for each tensor in it, in (named) tuples and lists."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and type(value) is not tuple:
        return type(value)(*[mapped(change, v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([mapped(change, v) for v in value])
    return value


def sizes(value: Any) -> tuple[int, ...]:
    """A size argument as a tuple."""
    return (value,) if isinstance(value, int) else tuple(value)


def _inner(name: str) -> property:
    return property(lambda self: getattr(self.value, name), lambda self, new: setattr(self.value, name, new))


def _array_of(t: Tensor) -> Any:
    return t._array  # which subclasses have in their own way


def _geometry_of(t: Any) -> Any:
    return t.value._geometry


class Wrapped(Tensor):
    """A tensor of a level. It has no slots of its own, so that a plain tensor can become one in place."""

    __slots__ = ()
    _prints_itself = True
    __torch_function__: Any = None  # as subclasses say that they have none
    value: Tensor
    level: Any  # of the subclass's own kind
    _array, _kind, _grad_node, _output_nr, _storage, _grad = map(
        _inner, ("_array", "_kind", "_grad_node", "_output_nr", "_storage", "_grad")
    )
    _memory = property(_array_of)
    _geometry = property(_geometry_of)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Refused, as are all switches of autograd inside transforms."""
        refuse_switch()

    def _again(self, value: Any) -> Tensor:
        """Another value in the same wrapper."""
        raise NotImplementedError("abstract: Batched and Dual define it")

    @property  # type: ignore[misc]  # nothing may be put in its place
    def data(self) -> Any:
        """The same values, outside the graph."""
        return self._again(self.value.data)

    def detach(self) -> Any:
        """The same values, outside the graph."""
        return self._again(self.value.detach())

    def __deepcopy__(self, memo: Any) -> Any:
        return self.detach().clone()


_W = TypeVar("_W", bound=Wrapped)


def wrapper(cls: type[_W], value: Any, level: Level) -> _W:
    """A fresh wrapped tensor."""
    t = object.__new__(cls)
    t.value, t.level = value, level
    WRAPPED.add(cls)
    return t


def stand_in(t: Any, cls: type[Wrapped]) -> Any:
    """What t was, as another object; t itself becomes a `cls`, of what its caller puts in it."""
    value: Any
    if isinstance(t, Wrapped):
        value = wrapper(type(t), t.value, t.level)
        value.__dict__.update(t.__dict__)
    else:
        value = alias(t, t._grad_node, t._output_nr)
    value._view_of = getattr(t, "_view_of", None)
    t.__class__ = cls
    WRAPPED.add(cls)
    return value


def with_views(t: Any, level: Level, become: Callable[[Any, View | None], None]) -> None:
    """Let become(tensor, how it is taken as a view) wrap what `t` is a view of, then all views of that."""
    root = view_chain(t)[0]
    s, parts = root._storage, root._kind.dtype.to_real()  # views of other numbers' bits have no tangent

    def see(view: Any) -> None:
        if not level.holds(view):
            taken = view_of(view)
            if taken is not None:
                see(taken.base)
            become(view, taken)

    known = () if s is None else [r() for r in s.views or ()]
    become(root, None)
    for view in (t, *known):
        if view is not None and view._kind.dtype.to_real() is parts and view_chain(view)[0] is root:
            see(view)
