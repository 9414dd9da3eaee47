"""Methods and attributes of Tensor's that ask the classes of their arguments, and modes, who takes them over.

Ops of the table do so in the dispatcher; these are the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from types import FunctionType, MemberDescriptorType
from typing import Any, TypeVar, cast

from rushlight._engine.core.services import service
from rushlight._engine.lazy import is_ours, package
from rushlight._engine.names import completion

_Method = TypeVar("_Method", bound=Callable[..., Any])
PARTS: set[type] = set()  # Tensor and those that it consists of
# Classes whose instances need no look at __torch_function__: Tensor; nn.Parameter joins it.
PLAIN: set[type] = set()
# True while modes of a program's own are active, in whatever thread (dispatch/method_overrides.py).
HEARD: list[None] = []


class Attribute(property):
    """An attribute of tensors. It has a name, as PyTorch's have: what a class or a mode is handed of it is
    its `__get__` or `__set__`, of which nothing else tells which attribute was asked for.
    """

    __name__: str
    __qualname__: str
    unasked: Attribute  # of one that asks, what it does when nobody takes it over

    def __init__(self, fget: Any = None, fset: Any = None, fdel: Any = None, doc: str | None = None) -> None:
        super().__init__(fget, fset, fdel)
        self.__doc__ = doc  # of a class derived from property, the class's own would come first

    def __set_name__(self, owner: type | None, name: str) -> None:
        self.__name__, self.__qualname__ = name, f"TensorBase.{name}"

    def __repr__(self) -> str:
        return f"<attribute '{self.__name__}' of 'torch._C.TensorBase' objects>"

    def asking(self) -> Attribute:
        """The attribute that asks who takes it over, by `__get__` and `__set__`; the same each time."""
        found = self if hasattr(self, "unasked") else _ASKING.get(self)
        if found is None:

            def get(owner: Any) -> Any:
                if owner.__class__ in PLAIN and not HEARD:
                    return self.__get__(owner)
                return before(made.__get__, self.__get__, (owner,), {})

            def put(owner: Any, value: Any) -> None:
                if owner.__class__ in PLAIN and not HEARD:
                    self.__set__(owner, value)
                else:
                    before(made.__set__, self.__set__, (owner, value), {})

            before = service("call that may be taken over")
            made = Attribute(get, self.fset and put, self.fdel, self.__doc__)
            made.__set_name__(None, self.__name__)
            made.unasked = self
            found = _ASKING.setdefault(self, made)
        return found


class OfClass:
    """A method or an attribute of Tensor's as the class shows it: `Tensor.dim(x)` and
    `Tensor.shape.__get__(x)` ask the class of x, and the modes, who takes them over. `x.dim()` and `x.shape`
    of a plain tensor do not, and are as fast as Python makes them: an instance finds the method itself, since
    this stands in the class's class.
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
        if held.__class__ is MemberDescriptorType:
            continue  # a slot: what a part has of that name shows it
        if held.__class__ is FunctionType and held in _ASKING:
            return _ASKING[held]
        found = held.__get__(None, cls) if hasattr(type(held), "__get__") else held
        if found.__class__ is Attribute and part in PARTS:
            return found.asking()
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


def asking_its_own(plain: _Method) -> _Method:
    """Decorator of a method of Python's protocols: it asks modes and the tensor's class alone, as PyTorch's
    does.
    """

    def of_any(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.__class__ in PLAIN and not HEARD:
            return plain(self, *args, **kwargs)
        return service("call that may be taken over")(method, plain, (self, *args), kwargs)

    # These need no tuple and no dict for what they hand on.
    def of_none(self: Any) -> Any:
        if self.__class__ in PLAIN and not HEARD:
            return plain(self)
        return service("call that may be taken over")(method, plain, (self,), {})

    def of_one(self: Any, given: Any) -> Any:
        if self.__class__ in PLAIN and not HEARD:
            return plain(self, given)
        return service("call that may be taken over")(method, plain, (self, given), {})

    method: Any
    code = getattr(plain, "__code__")
    names = code.co_varnames[: code.co_argcount]
    if len(names) == 1 and not code.co_kwonlyargcount:
        method = wraps(plain)(of_none)
    elif len(names) == 2 and not code.co_kwonlyargcount:
        of_one.__code__ = of_one.__code__.replace(co_varnames=names)
        method = wraps(plain)(of_one)
    else:
        method = wraps(plain)(of_any)
    method.unasked = plain
    return cast(_Method, method)


class AskedByClass(type):
    """The part of Tensor's class's class that has the methods which ask for themselves."""


def ask_by_class(names: Iterable[str]) -> None:
    """Let methods of Tensor ask for themselves where they are called by the class."""
    for name in names:
        setattr(AskedByClass, name, OfClass(name))
