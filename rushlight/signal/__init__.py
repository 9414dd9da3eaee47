"""torch.signal: window functions."""
from __future__ import annotations

from rushlight.signal import windows

__all__ = ["windows"]
