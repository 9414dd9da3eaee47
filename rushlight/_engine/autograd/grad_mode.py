"""Whether ops are recorded: grad mode and inference mode, per thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.storages.storage import FRESH, INFERENCE, INFERRING


class _Local(threading.local):
    # Whether ops are recorded: never in inference mode, where `asked` is what grad mode was set to.
    enabled = True
    inference = False
    asked = False
    multithreading = True
    # Whether a leaf's gradient must lie in memory as the leaf does (enforce_grad_layout_policy).
    grad_layout = True
    # Of a backward pass for some inputs alone: the nodes that lead to them (autograd/engine.py).
    useful: Any = None
    # Of a backward pass: whether its graph is to be there for another one.
    retains = False
    # How many backward passes were of batches of gradients (vmap).
    batches = 0
    # Of a backward pass: who says on which of a device's streams a node runs; None: on the current ones.
    streams: Any = None
    # Of each function that torch.func differentiates right now, what it may read and not write.
    transforms: tuple[Any, ...] = ()
    # How many transforms of torch.func the program's code that runs right now is inside of.
    depth = 0


LOCAL = _Local()


def is_grad_enabled() -> bool:
    """Whether grad mode is on in this thread: ops on tensors that require gradients are recorded, but not in
    inference mode.
    """
    return LOCAL.asked if LOCAL.inference else LOCAL.enabled


def set_enabled(enabled: bool) -> None:
    """Set grad mode of this thread."""
    if LOCAL.inference:
        LOCAL.asked = enabled
    else:
        LOCAL.enabled = enabled


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread."""
    return LOCAL.inference


F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context manager and decorator that sets grad mode and puts it back."""

    __slots__ = ("_before",)
    _before: Any

    def __enter__(self) -> None:
        raise NotImplementedError("abstract: no_grad and its relatives define it")

    def __exit__(self, *error: Any) -> None:
        set_enabled(self._before)

    def _again(self) -> _Mode:
        return type(self)()

    def __call__(self, function: F) -> F:
        return decorate(_of_class(function), self._again)  # type: ignore[return-value]


def _of_class(function: Any) -> Any:
    """`function`; of a class, with a warning, a function that makes its objects."""
    if not isinstance(function, type):
        return function
    warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
        "functions or methods. To preserve the current behavior of class decoration, you can directly "
        "decorate the `__init__` method and nothing else.",
        FutureWarning,
    )
    return lambda *args, **kwargs: function(*args, **kwargs)


def decorate(function: Callable[..., Any], context: Callable[[], Any]) -> Callable[..., Any]:
    """`function` (or generator function) run inside a fresh `context()` at every call."""
    import inspect

    if inspect.isclass(function):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or "
            "all methods should have the context manager applied; additionally, decorating a "
            "class with `no_grad` has no effect on subclasses. Decorate the methods instead."
        )
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(function, context)

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return inside


def _decorate_generator(function: Callable[..., Any], context: Callable[[], Any]) -> Callable[..., Any]:
    # The mode must hold while the generator's own code runs, and not in its consumer's between.
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, generator)
        try:
            while True:
                with context():
                    value = resume()
                try:
                    sent = yield value
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)
                else:
                    resume = functools.partial(generator.send, sent)
        except StopIteration as stop:
            return stop.value

    return inside


class _Switch(_Mode):
    """A mode that is given no arguments, or the function to decorate."""

    __slots__ = ()
    enabled: bool

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]  # a decorator without brackets
    def __new__(cls, orig_func: Any = None) -> Any:
        made = object.__new__(cls)
        return made if orig_func is None else made(orig_func)

    def __enter__(self) -> None:
        self._before = is_grad_enabled()
        set_enabled(self.enabled)


class no_grad(_Switch):
    """Inside, nothing is recorded: results do not require gradients. A context manager and a decorator, for
    this thread.
    """

    __slots__ = ()
    enabled = False


class enable_grad(_Switch):
    """Inside, ops are recorded again, in no_grad, too. A context manager and a decorator, for this thread."""

    __slots__ = ()
    enabled = True


class set_grad_enabled(_Mode):
    """Set grad mode of this thread at once; as a context manager or decorator, put it back at the end."""

    __slots__ = ("mode",)

    def __init__(self, mode: bool) -> None:
        self._before = is_grad_enabled()
        self.mode = mode
        set_enabled(bool(mode))

    def __enter__(self) -> None:
        set_enabled(bool(self.mode))

    def __call__(self, function: F) -> F:
        set_enabled(self._before)
        return decorate(_of_class(function), lambda: set_grad_enabled(self.mode))  # type: ignore[return-value]


class Transformed:
    """A context that runs a function of the program's which is transformed; by=-1: what it calls outside of
    the innermost transform again.
    """

    __slots__ = ("_by",)

    def __init__(self, by: int = 1) -> None:
        self._by = by

    def __enter__(self) -> None:
        LOCAL.depth += self._by

    def __exit__(self, *error: object) -> None:
        LOCAL.depth -= self._by


class OutsideInference:
    """What a function that is being differentiated runs in: its tensors are ordinary ones."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = LOCAL.inference, FRESH.storage
        LOCAL.inference, FRESH.storage = False, None

    def __exit__(self, *error: Any) -> None:
        LOCAL.inference, FRESH.storage = self._before


class inference_mode(_Mode):
    """No recording, and results that autograd never tracks (RuntimeError); mode=False does nothing."""

    __slots__ = ("mode", "_fresh")

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]  # a decorator without brackets
    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._before = (LOCAL.enabled, LOCAL.inference, LOCAL.asked)
        self._fresh = FRESH.storage
        LOCAL.inference, LOCAL.asked = bool(self.mode), False
        LOCAL.enabled = not self.mode
        FRESH.storage = INFERENCE if self.mode else None
        INFERRING.append(None)

    def __exit__(self, *error: Any) -> None:
        LOCAL.enabled, LOCAL.inference, LOCAL.asked = self._before
        FRESH.storage = self._fresh
        INFERRING.pop()

    def _again(self) -> _Mode:
        return inference_mode(self.mode)
