"""Filters for compile(options={"guard_filter_fn": ...}): which of PyTorch's guards to keep.

Each takes a list of entries (`guard_type`, `is_global`, `value`, `orig_guard`) and gives a bool for each.
compile() accepts such a function and does not call it: what is checked before a replay is checked for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rushlight.nn import Parameter


def keep_portable_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep what says sizes, settings of the process, and what local tensors are."""
    return [
        entry.guard_type in ("GLOBAL_STATE", "SHAPE_ENV")
        or (entry.guard_type == "TENSOR_MATCH" and not entry.is_global)
        for entry in guard_entries
    ]


def keep_tensor_guards_unsafe(guard_entries: Sequence[Any], keep_parameters: bool = False) -> list[bool]:
    """Keep what says what tensors are, of Parameters only if keep_parameters."""
    return [
        entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(entry.value, Parameter))
        for entry in guard_entries
    ]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep all but those of torch.nn's own modules."""
    return [not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep all but those of modules."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep all but those of global variables."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep none."""
    return [False for _ in guard_entries]
