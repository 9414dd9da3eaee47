"""torch._refs.fft: functions of torch.fft."""

from __future__ import annotations

from typing import Any

from rushlight import fft as _fft  # `fft` is a function here
from rushlight._engine.names.alternatives import attribute


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(_fft, name, None)
    return attribute(__name__, name) if found is None else found
