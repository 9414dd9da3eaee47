"""torch.utils._mode_utils: small helpers of those who write modes."""

from __future__ import annotations

from typing import Any

from rushlight._engine.dispatch.interpreters import unheard as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Any) -> bool:
    """Whether these are one mode."""
    return all(tuple(mode == modes[0] for mode in modes))
