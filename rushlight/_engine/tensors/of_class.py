"""Methods of Tensor's that ask the classes of their arguments, and modes, who takes them over.

Ops of the table do so in the dispatcher; these are the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from types import FunctionType
from typing import Any

from rushlight._engine.core.services import service
from rushlight._engine.lazy import is_ours, package
from rushlight._engine.names import completion

PARTS: set[type] = set()  # Tensor and those that it consists of
# Classes whose instances need no look at __torch_function__: Tensor; nn.Parameter joins it.
PLAIN: set[type] = set()


class OfClass:
    """A method of Tensor's as the class shows it: `Tensor.dim(x)` asks the class of x, and the modes, who
    takes it over. `x.dim()` of a plain tensor does not, and is as fast as Python makes it: an instance finds
    the method itself, since this stands in the class's class.
    """

    __slots__ = ("known", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: dict[Any, Any] = {}  # what it is of Tensor, until something is set

    def __get__(self, cls: Any, meta: type) -> Any:
        found = self.known.get(cls)
        if found is not None:
            return found
        if cls is None:
            return self
        if completion.is_completing():  # by whoever asks here
            return property()
        times, found = _ANSWERS.times, _of(cls, self.name)
        if cls in PARTS and hasattr(found, "unasked"):
            _ANSWERS.keep(self.known, cls, found, times)
        return found

    def __set__(self, cls: type, value: Any) -> None:
        if cls in PARTS and value.__class__ is FunctionType:
            plain = getattr(value, "unasked", None)
            if plain in _ASKING and _ASKING[plain] is value:  # given back by who replaced it for a while
                value = plain
        with changing():
            setattr(cls, self.name, value)

    def __delete__(self, cls: type) -> None:
        with changing():
            delattr(cls, self.name)


def _of(cls: type, name: str) -> Any:
    """What cls.NAME is."""
    for part in cls.__mro__:
        if name not in part.__dict__:
            continue
        held = part.__dict__[name]
        if held.__class__ is FunctionType and held in _ASKING:
            return _ASKING[held]
        found = held.__get__(None, cls) if hasattr(type(held), "__get__") else held
        own = found.__class__ is FunctionType and part in PARTS
        return asking(found, name) if own and is_ours(found) else found
    raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")


class _Answers:
    """Where the answers are kept, and how often the classes have changed."""

    def __init__(self) -> None:
        self.filled: list[dict[Any, Any]] = []
        self.times = 0

    def keep(self, known: dict[Any, Any], cls: type, found: Any, times: int) -> None:
        """Keep an answer, unless the classes have changed since `times`."""
        with _CHANGE:
            if times == self.times:
                known[cls] = found
                self.filled.append(known)

    def forget(self) -> None:
        """The classes have changed."""
        self.times += 1
        for known in self.filled:
            known.clear()
        self.filled.clear()


_CHANGE = RLock()
_ANSWERS = _Answers()
_SETTERS = {name: OfClass.__dict__[name] for name in ("__set__", "__delete__")}


@contextmanager
def changing() -> Iterator[None]:
    """Inside, what is set of Tensor, or of a class derived from it, is set whatever their class has."""
    with _CHANGE:
        for name in _SETTERS:
            delattr(OfClass, name)
        try:
            yield
        finally:
            _ANSWERS.forget()
            for name, setter in _SETTERS.items():
                setattr(OfClass, name, setter)


_ASKING: dict[Any, Any] = {}  # by what they do when nobody takes them over


def asking(plain: Any, name: str) -> Any:
    """A method that asks who takes it over before it does what `plain` does; the same for the same. Its names
    are those by which it is found, for pickle among others.
    """
    if hasattr(plain, "unasked"):
        return plain
    found = _ASKING.get(plain)
    if found is None:
        method = service("function that asks")(plain)
        method.__module__, method.__name__, method.__qualname__ = package(), name, f"Tensor.{name}"
        method.unasked = plain
        found = _ASKING.setdefault(plain, method)
    return found


def asking_its_own(plain: Any) -> Any:
    """Decorator of a method of Python's protocols: it asks the tensor's class alone, as PyTorch's does."""

    def of_any(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.__class__ in PLAIN:
            return plain(self, *args, **kwargs)
        return service("call that may be taken over")(method, plain, (self, *args), kwargs)

    def of_one(self: Any, given: Any) -> Any:  # needs no tuple and no dict for what it hands on
        if self.__class__ in PLAIN:
            return plain(self, given)
        return service("call that may be taken over")(method, plain, (self, given), {})

    names = plain.__code__.co_varnames[: plain.__code__.co_argcount]
    if len(names) == 2 and not plain.__code__.co_kwonlyargcount:
        of_one.__code__ = of_one.__code__.replace(co_varnames=names)
        method = wraps(plain)(of_one)
    else:
        method = wraps(plain)(of_any)
    setattr(method, "unasked", plain)
    return method


class AskedByClass(type):
    """The part of Tensor's class's class that has the methods which ask for themselves."""


def ask_by_class(names: Iterable[str]) -> None:
    """Let methods of Tensor ask for themselves where they are called by the class."""
    for name in names:
        setattr(AskedByClass, name, OfClass(name))
