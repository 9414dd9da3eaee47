"""What `wrap` says of functions; apart from the tracer, since packages say it when they are imported."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

__all__ = ["wrap"]

# (the globals of a module, a name): functions that `wrap` makes nodes.
_wrapped: list[tuple[dict[str, Any], str]] = []


_Wrapped = TypeVar("_Wrapped")


def wrap(fn_or_name: _Wrapped) -> _Wrapped:
    """Let calls of a function of the calling module, or of that name, be nodes of traces; at module scope."""
    name: str = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__")
    frame: Any = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((frame.f_globals, name))
    return fn_or_name
