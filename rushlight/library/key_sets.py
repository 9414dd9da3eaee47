"""Sets of dispatch keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rushlight._engine.dispatch.interpreters import CLASSES
from rushlight.library import DispatchKey


class DispatchKeySet:
    """Some dispatch keys: torch._C.DispatchKeySet."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def has(self, k: Any) -> bool:
        """Whether a key is among them."""
        return k in self._keys

    def add(self, k: Any) -> DispatchKeySet:
        """These and one more."""
        return DispatchKeySet(*self._keys, k)

    def remove(self, k: Any) -> DispatchKeySet:
        """These without one."""
        return DispatchKeySet(*(self._keys - {k}))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({_listed(self._keys)})"


def _listed(keys: Iterable[Any]) -> str:
    return ", ".join(sorted(key.name for key in keys))


def excluded() -> DispatchKeySet:
    """The keys that calls of this thread pass over: Python's, where classes do not hear of ops."""
    return DispatchKeySet() if CLASSES.below else DispatchKeySet(DispatchKey.Python)
