"""Modules of the public storey are told as they are loaded (lazy.py), so that their functions may become
users' own (tracebacks.py).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # not loaded by `import rushlight`
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_waiting: list[ModuleType] = []
tell: Callable[[ModuleType], Any] = _waiting.append


def rest(listener: Callable[[ModuleType], Any]) -> list[ModuleType]:
    """What was loaded before; from now on `listener` hears of each module."""
    global tell
    tell = listener
    return _waiting
