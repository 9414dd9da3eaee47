"""Which functions and classes promise to stay as they are (torch.fx._compatibility)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")
_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Decorator: note whether a function or class stays compatible, in its docstring and here."""

    def mark(marked: _T) -> _T:
        note = (
            "Backwards-compatibility for this API is guaranteed."
            if is_backward_compatible
            else "This API is experimental and is *NOT* backward-compatible."
        )
        label = "note" if is_backward_compatible else "warning"
        marked.__doc__ = f"{getattr(marked, '__doc__', None) or ''}\n.. {label}::\n    {note}\n"
        _MARKED_WITH_COMPATIBILITY.setdefault(marked)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(marked)
        return marked

    return mark
