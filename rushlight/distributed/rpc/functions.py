"""What functions that others call may be marked with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def async_execution(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose result is a torch.futures.Future: its callers get what that comes to.

    Nobody waits meanwhile: the answer is sent when the future is done. It stands inside of staticmethod and
    classmethod, and outside of torch.jit.script.
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    setattr(wrapper, "_wrapped_async_rpc_function", fn)
    return wrapper
