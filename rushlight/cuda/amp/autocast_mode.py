"""The older spellings of autocast for CUDA: without it they warn, and do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import amp
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.renaming import renamed
from rushlight.amp.autocast_mode import warn_of_older


class autocast(amp.autocast):
    """torch.amp.autocast('cuda', ...), with a FutureWarning."""

    def __init__(
        self, enabled: bool = True, dtype: dt.dtype = dt.float16, cache_enabled: bool = True
    ) -> None:
        warn_of_older("cuda")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def _custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: dt.dtype | None = None) -> Any:
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def _custom_bwd(bwd: Callable[..., Any]) -> Any:
    return amp.custom_bwd(bwd, device_type="cuda")


_TEXT = (
    "`torch.cuda.amp.{0}(args...)` is deprecated. Please use "
    "`torch.amp.{0}(args..., device_type='cuda')` instead."
)
custom_fwd = renamed(_custom_fwd, "custom_fwd", _TEXT.format("custom_fwd"))
custom_bwd = renamed(_custom_bwd, "custom_bwd", _TEXT.format("custom_bwd"))
