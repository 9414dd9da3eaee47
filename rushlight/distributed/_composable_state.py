"""Which state a module has that a composable API (fully_shard, replicate) manages."""

from __future__ import annotations

from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref


class _State:
    """Base of such states; a wrapper that is its own state has it, too."""


_module_state_mapping: WeakKeyDictionary[Any, ReferenceType[_State]] = WeakKeyDictionary()


def _insert_module_state(module: Any, state: _State) -> None:
    """Say what a module's state is; AssertionError where it has one. Whoever manages it keeps the state
    alive.
    """
    if module in _module_state_mapping:
        raise AssertionError(f"Inserting {module} more than once.")
    _module_state_mapping[module] = ref(state)


def _get_module_state(module: Any) -> _State | None:
    """A module's state: itself, what manages it, or None. AssertionError where that is gone."""
    if isinstance(module, _State):
        return module
    found = _module_state_mapping.get(module)
    if found is None:
        return None
    state = found()
    if state is None:
        raise AssertionError("State has already been garbage collected")
    return state
