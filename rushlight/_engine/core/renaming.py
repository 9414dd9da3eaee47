"""Functions under the names that they had before."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rushlight._engine.core.callers import warn


def renamed(function: Callable[..., Any], old: str, text: str) -> Callable[..., Any]:
    """`function` by the name `old`; each call says `text`, which is its docstring, in a FutureWarning."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warn(text, FutureWarning)
        return function(*args, **kwargs)

    call.__name__, call.__qualname__, call.__doc__ = old, old, text
    return call
