"""Methods and attributes of tensors that are no ops, for classes and modes that take functions over.

Ops come by the dispatcher, which asks who takes them over. `x.shape` and `x.detach()` do not: they are as
fast as Python makes them. While a mode of a program's own is active these names of Tensor hold listeners, and
so do, for good, those of a subclass that has a `__torch_function__` of its own. What the listeners hand on is
the plain method (`Tensor.detach`, `Tensor.shape.__get__`), by which programs know it; that is also what the
class itself shows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from importlib.resources import files
from itertools import takewhile
from typing import Any, TypeVar

from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.overrides import ask, disabled, foreign
from rushlight._engine.dispatch.replaced_methods import ReplacedMethods
from rushlight._engine.ops.table import NAMES
from rushlight._engine.tensors.of_class import HEARD, changing
from rushlight._engine.tensors.operators import OPERATORS
from rushlight._engine.tensors.tensor import Tensor, lookup

_T = TypeVar("_T")

_REPLACED = ReplacedMethods()
# What would put itself into the class at its first call.
_LATE = ("__getitem__", "__setitem__")


@lru_cache(None)
def lines() -> list[tuple[str, str, str]]:
    """(space, name, parameters) of all that PyTorch lets classes take over; "ignored" is the space of
    others.
    """
    text = (files("rushlight") / "_engine" / "dispatch" / "overridable.tsv").read_text(encoding="utf-8")
    return [(space, name, parameters) for space, name, parameters in map(_columns, text.splitlines())]


def _columns(line: str) -> list[str]:
    return line.split("\t")


@lru_cache(None)
def heard() -> tuple[str, ...]:
    """The names of Tensor's that are no ops of the table."""
    found = dict.fromkeys(name.partition(".")[0] for space, name, _ in lines() if space == "torch.Tensor")
    return tuple(
        name
        for name in found
        if ("Tensor", name) not in NAMES
        and name not in OPERATORS
        and getattr(Tensor, name, None) is not None
        and name != "_grad"  # by which the framework itself keeps a gradient
    )


class Listener:
    """Stands for a method or an attribute; of the class it shows what it stands for."""

    def __init__(self, plain: Any, name: str) -> None:
        self.plain, self.name, self.is_method = plain, name, callable(plain)
        self.unasked = getattr(plain, "unasked", plain)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is None:
            return self.plain
        if not self.is_method:
            return _answer(self.plain.__get__, self.unasked.__get__, (owner,), {})

        @wraps(self.plain)
        def method(*args: Any, **kwargs: Any) -> Any:
            return answer(self.plain, owner, args, kwargs)

        return method

    def __set__(self, owner: Any, value: Any) -> None:
        if self.is_method:
            owner.__dict__[self.name] = value
        else:
            _answer(self.plain.__set__, self.unasked.__set__, (owner, value), {})


_LISTENERS: dict[str, tuple[Any, Listener]] = {}  # with what Tensor itself holds of the name


def before(
    shown: Callable[..., Any], plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """plain(...), which programs know as `shown`, unless a mode or a class among the arguments takes it over.
    Classes of ours that hear of rows do not: they hear of those that it consists of.
    """
    if not interpreters.MODES and not kwargs and interpreters.all_plain(args):
        return plain(*args)
    asked = _innermost() is not None or any(
        not hasattr(type(item).__torch_function__, "of_rows") for item in foreign(args, kwargs)
    )
    return _answer(shown, plain, args, kwargs) if asked else plain(*args, **kwargs)


def asked_of_absent(
    full: str,
    shown: Callable[..., Any],
    missing: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A call of torch.`full`, which is not there: modes and classes may take it over where PyTorch lets
    them, for it may mean something to them.
    """
    return before(shown, missing, args, kwargs) if full in _overridable() else missing(*args, **kwargs)


@lru_cache(None)
def _overridable() -> frozenset[str]:
    """The names, without "torch.", of all that may be taken over."""
    return frozenset(
        f"{space}.{name}".removeprefix("torch.") for space, name, _ in lines() if space != "ignored"
    )


def asking(plain: Callable[..., Any], shown: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """A function that asks modes, and classes among its arguments, before it does what `plain` does. Programs
    know it as shown(it), or as it is.
    """
    modes, free = interpreters.MODES, interpreters.PLAIN

    @wraps(plain)
    def call(given: Any = _NOTHING, /, *more: Any, **named: Any) -> Any:
        if given.__class__ in free and not more and not named and not modes:
            return plain(given)
        args = more if given is _NOTHING else (given, *more)
        return before(call if shown is None else shown(call), plain, args, named)

    return call


_NOTHING = object()


def _innermost() -> Any:
    """The mode of a program's own that is to be asked first."""
    modes = interpreters.STACK.modes
    return modes[-1] if modes and hasattr(modes[-1], "__torch_function__") else None


def answer(method: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """method(owner, ...) by the innermost mode, else by the classes among the arguments that take it over."""
    return _answer(method, unasked(method), (owner, *args), kwargs)


def _answer(
    shown: Callable[..., Any], plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    mode, classes = _innermost(), foreign(args, kwargs)
    if mode is not None:
        modes = interpreters.STACK.modes
        modes.pop()
        try:
            return mode.__torch_function__(shown, tuple(map(type, classes)), args, kwargs)
        finally:
            modes.append(mode)
    return ask(shown, plain, classes, args, kwargs) if classes else plain(*args, **kwargs)


def unasked(method: Callable[..., _T]) -> Callable[..., _T]:
    """What a method does that, asked of the class, asks who takes it over."""
    found: Callable[..., _T] = getattr(method, "unasked", method)
    return found


def taken_over(op: Callable[..., Any], plain: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    """plain(...) for a method `op` that is no op of the table, if none of the arguments' classes takes it."""
    classes = foreign(args[:1], {})
    return ask(op, plain, classes, args, kwargs) if classes else plain(*args, **kwargs)


def taken_over_by(operand: Any, plain: Callable[..., _T], *args: Any, **kwargs: Any) -> tuple[()] | tuple[_T]:
    """(result,) of the method of a plain tensor that the class of another operand takes over, or of one in a
    tuple; else ().
    """
    classes = [] if operand.__class__ in interpreters.PLAIN else foreign((operand,), {})
    if not classes:
        return ()

    def unasked(*given: Any, **named: Any) -> _T:
        found: _T = disabled(plain, (), given, named)  # or it would ask the same class again
        return found

    return (ask(plain, unasked, classes, args, kwargs),)


def listener(name: str) -> Listener:
    """What listens to a name of Tensor's."""
    held = Tensor.__dict__.get(name)
    if held.__class__ is Listener:
        return held
    known = _LISTENERS.get(name)
    if known is None or known[0] is not held:
        made = Listener(getattr(Tensor, name), name)
        known = _LISTENERS[name] = Tensor.__dict__.get(name), made  # the first look-up binds a method
    return known[1]


def enter() -> None:
    """A mode begins: Tensor's own names listen."""
    if not _REPLACED.active:
        for name in _LATE:
            setattr(Tensor, name, lookup("operator", name))
    _REPLACED.enter(heard(), listener)
    HEARD.append(None)


def leave() -> None:
    """It ends."""
    HEARD.pop()
    _REPLACED.leave()


def adopt(cls: type[Any]) -> None:
    """A class of a program's own with a `__torch_function__`: what it has of Tensor's listens."""
    if getattr(cls, "__torch_function__") is disabled:
        return
    cls._detached = Tensor
    own = set().union(*map(vars, takewhile(lambda part: part is not Tensor, cls.__mro__)))
    listeners = {}
    for name in heard():
        of_tensor = listener(name)
        found = getattr(cls, name) if name in own else of_tensor.plain
        if found is of_tensor.plain:
            listeners[name] = of_tensor
        elif getattr(found, "tells", False):
            listeners[name] = Listener(found, name)
    with changing():
        for name, listening in listeners.items():
            setattr(cls, name, listening)
