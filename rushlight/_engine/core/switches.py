"""The process's switches that ops ask beside their arguments: the default dtype and device, determinism.

compile() keeps what it knows of ops apart by them, and hears of a change (`switched` in recording.py).
"""

from __future__ import annotations

from rushlight._engine.core.determinism import Determinism
from rushlight._engine.core.device import Default, device
from rushlight._engine.core.dtype import dtype, get_default_dtype

Switches = tuple[dtype, device, int, bool]


def switches() -> Switches:
    """How they stand: (default dtype, default device, level of determinism, whether new memory is filled)."""
    return get_default_dtype(), Default.value, Determinism.level, Determinism.fill_uninitialized_memory
