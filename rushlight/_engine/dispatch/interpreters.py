"""What stands in the dispatcher: the interpreters of this thread, and the classes that pass freely.

MODES is true while any thread has an interpreter (autocast, a profiler, vmap, a torch function
mode): the dispatcher's one check. An interpreter is an object with `run(row, call, args, kwargs)`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self, TypeVar
from weakref import ref

from rushlight._engine.tensors.of_class import PLAIN as PLAIN
from rushlight._engine.tensors.tensor import BELOW as BELOW, WRAPPED

_T = TypeVar("_T")


class Interprets(Protocol):
    """What stands in the dispatcher, and runs the ops of its thread."""

    def run(self, row: Any, call: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any], /) -> _T:
        """call(*args, **kwargs), an op of `row`, in the interpreter's way."""


MODES: list[Any] = []
# The one profiler that callables leave records with, which stands in its thread's stack, and these records.
LONE: list[Any] = [None]
RECORDS: list[Any] = []
# The profilers that are to see operands, and so every op that an op consists of.
DETAILED: list[Any] = []
# Classes of interpreters that take many calls without any of what follows (compile()'s, trace/matching.py).
MATCHERS: set[type] = set()
# Classes of arguments that take nothing over.
SIMPLE = frozenset((int, float, bool, str, type(None), complex))


# What stands under all others in every thread, functions of programs for PyTorch's ops, and their classes.
BASE: list[Any] = []
BASES: set[type] = set()


class _Modes(list[Any]):
    """A thread's interpreters, the innermost last."""

    __slots__ = ("__weakref__",)


# Those of all threads.
STACKS: list[ref[_Modes]] = []


class _Stack(threading.local):
    def __init__(self) -> None:
        self.modes: list[Any] = _Modes(BASE)
        STACKS.append(ref(self.modes, STACKS.remove))


STACK = _Stack()


def all_plain(values: Iterable[Any]) -> bool:
    """Whether none of these, looked at without what they hold, is of a class that may take a call over."""
    return all([item.__class__ in PLAIN or item.__class__ in SIMPLE for item in values])


class _Classes(threading.local):
    """Whether classes with __torch_function__ are asked in this thread, and those with __torch_dispatch__."""

    asked = True
    below = True


CLASSES = _Classes()


def push(mode: Any) -> None:
    """Put an interpreter in this thread's dispatcher."""
    STACK.modes.append(mode)
    MODES.append(mode)


def pop(mode: Any) -> None:
    """Take it away again."""
    STACK.modes.remove(mode)
    MODES.remove(mode)


class Interpreter:
    """A context that stands in this thread's dispatcher; subclasses define `run`."""

    def __enter__(self) -> Self:
        push(self)
        return self

    def __exit__(self, *error: object) -> None:
        pop(self)


def wrapped(values: Iterable[Any]) -> bool:
    """Whether a level of vmap or of forward mode must see an op on these."""
    return bool(MODES and STACK.modes and WRAPPED) and not WRAPPED.isdisjoint([v.__class__ for v in values])


def heard(values: Iterable[Any]) -> bool:
    """Whether a level, a mode or a class of the operands' may have to see what is done to them: not where all
    are plain and no interpreter stands, whatever classes there are.
    """
    if not WRAPPED:
        return False
    return bool(MODES) or any([v.__class__ not in PLAIN and v.__class__ not in SIMPLE for v in values])


def listening() -> bool:
    """Whether an interpreter of this thread also hears of writes of plain tensors that are no rows
    (compile()'s).
    """
    return matching() is not None


def matching() -> Any:
    """The one that does, under no others than levels of transforms, which leave plain tensors alone."""
    for mode in reversed(STACK.modes):
        if hasattr(mode, "matched_formula"):
            return mode
        if not getattr(mode, "only_wrapped", False):
            break
    return None


def under(mode: Any, body: Callable[..., _T], *args: Any) -> _T:
    """body(*args) as if the interpreters above one were not there."""
    modes = STACK.modes
    place = modes.index(mode) + 1
    above = modes[place:]
    del modes[place:]
    try:
        return body(*args)
    finally:
        modes += above


@contextmanager
def unheard() -> Iterator[None]:
    """A context in which no mode and no class hears of ops below autograd."""
    modes, before = list(STACK.modes), CLASSES.below
    STACK.modes[:] = [mode for mode in modes if not hasattr(mode, "__torch_dispatch__")]
    CLASSES.below = False
    try:
        yield
    finally:
        STACK.modes[:] = modes
        CLASSES.below = before


def interpret(row: Any, call: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _T:
    """Run an op under this thread's innermost interpreter, which itself runs under the next."""
    modes = STACK.modes
    if not modes:
        return call(*args, **kwargs)
    mode: Interprets = modes.pop()
    try:
        return mode.run(row, call, args, kwargs)
    finally:
        put_back(modes, mode)


def put_back(modes: list[Any], mode: Any) -> None:
    """The innermost of a thread's interpreters has run an op, in which what is in BASE may have gone."""
    if mode.__class__ not in BASES or mode in BASE:
        modes.append(mode)


def within(mode: Interprets, body: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _T:
    """body(...) for an interpreter that is running an op: the ops inside come to it again."""
    STACK.modes.append(mode)
    try:
        return body(*args, **kwargs)
    finally:
        modes = STACK.modes
        if modes and modes[-1] is mode:  # else it has gone meanwhile
            modes.pop()
