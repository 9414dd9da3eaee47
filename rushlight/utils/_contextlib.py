"""Contexts that decorate, too: every call of the function runs inside a fresh one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar

from rushlight._engine.autograd.grad_mode import decorate
from rushlight._engine.core.callers import warn

FuncType = Callable[..., Any]
F = TypeVar("F", bound=FuncType)


def context_decorator(ctx: Any, func: F) -> F:
    """`func` (or generator function) run inside `ctx`: a context that can be entered again and again, or what
    makes one. RuntimeError for a class; AssertionError for what is both context and callable.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it "
            "ambiguous which interface to use. If you intended to pass a context manager factory, rewrite "
            "your call as context_decorator(lambda: ctx()); if you intended to pass a context manager "
            "directly, rewrite your call as context_decorator(lambda: ctx)"
        )
    return decorate(func, ctx if callable(ctx) else _Given(ctx))  # type: ignore[return-value]


class _Given:
    """Gives what it was given."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def __call__(self) -> Any:
        return self.found


class _DecoratorContextManager:
    """The base of contexts that can decorate functions; `clone` makes the one that a call enters."""

    def __call__(self, orig_func: F) -> F:
        if inspect.isclass(orig_func):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only "
                "decorate functions or methods. To preserve the current behavior of class decoration, you "
                "can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
            )
            found: F = context_decorator(self.clone, _maker(orig_func))
            return found
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """Another one like it; classes whose constructor takes arguments define it."""
        return self.__class__()


def _maker(cls: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs)

    return make


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The base of contexts without arguments, which also decorate without brackets."""

    def __new__(cls, orig_func: F | None = None) -> Any:
        made = object.__new__(cls)
        return made if orig_func is None else made(orig_func)
