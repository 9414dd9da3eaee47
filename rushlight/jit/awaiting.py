"""torch.jit._awaitable: a call that is put off until its result is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

W = TypeVar("W")
_PENDING: Any = object()


class _Await(Generic[W]):
    """A function and its arguments; the function runs once, when the result is first asked for.

    In Python it may be used as the result itself: what it does not have itself is looked up there.
    """

    def __init__(self, function: Callable[..., W] | None, arguments: tuple[Any, ...], result: Any) -> None:
        self._function, self._arguments, self._result = function, arguments, result

    def fn(self) -> Callable[..., W]:
        """The function; RuntimeError where there was a result from the start."""
        if self._function is None:
            raise RuntimeError("Await: there is no function, it was made by _awaitable_nowait")
        return self._function

    def args(self) -> tuple[Any, ...]:
        """The function's arguments."""
        return self._arguments

    def is_nowait(self) -> bool:
        """Whether there was a result from the start."""
        return self._function is None

    def wait(self) -> Any:
        """The result."""
        if self._result is _PENDING:
            self._result = self.fn()(*self._arguments)
        return self._result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'_Await' object has no attribute '{name}'")
        return getattr(self.wait(), name)


_Await.__module__ = "torch.jit"


def _awaitable(func: Callable[..., W], *args: Any, **kwargs: Any) -> _Await[W]:
    """`func(*args)`, which is called when `_awaitable_wait` asks for its result."""
    if kwargs:
        raise TypeError("_awaitable takes positional arguments only")
    return _Await(func, args, _PENDING)


def _awaitable_wait(aw: _Await[W]) -> W:
    """The result of an awaitable."""
    found: W = aw.wait()
    return found


def _awaitable_nowait(o: W) -> _Await[W]:
    """An awaitable whose result is there already."""
    return _Await(None, (o,), o)


# As code in files calls them.
awaitable, awaitable_wait, awaitable_nowait = _awaitable, _awaitable_wait, _awaitable_nowait
