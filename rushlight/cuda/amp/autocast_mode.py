"""The older spellings of autocast for CUDA."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rushlight import amp
from rushlight.base import dtype as dt


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` "
                  f"instead.", FutureWarning, stacklevel=3)


class autocast(amp.autocast):
    """torch.amp.autocast("cuda", ...): FutureWarning, and without CUDA a UserWarning, and does nothing."""

    def __init__(self, enabled: bool = True, dtype: dt.dtype = dt.float16,
                 cache_enabled: bool = True) -> None:
        _deprecated("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    """torch.amp.custom_fwd(..., device_type="cuda"), with a FutureWarning."""
    _deprecated("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """torch.amp.custom_bwd(..., device_type="cuda"), with a FutureWarning."""
    _deprecated("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
