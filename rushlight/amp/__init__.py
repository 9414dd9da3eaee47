"""torch.amp: automatic mixed precision on the CPU."""
from __future__ import annotations

from rushlight.amp.autocast_mode import (autocast, autocast_decrement_nesting, custom_bwd, custom_fwd,
                                         get_autocast_dtype, is_autocast_available, is_autocast_enabled)

__all__ = ["autocast", "autocast_decrement_nesting", "custom_bwd", "custom_fwd", "get_autocast_dtype",
           "is_autocast_available", "is_autocast_enabled"]
