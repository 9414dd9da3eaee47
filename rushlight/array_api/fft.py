"""The standard's extension `fft`, whose several axes are called `axes`."""
from __future__ import annotations

from typing import Any

import rushlight as torch

_OVER_AXES = ("fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift")
_SAME = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftfreq", "rfftfreq")


def __getattr__(name: str) -> Any:
    if name not in _OVER_AXES + _SAME:
        raise AttributeError(f"module 'rushlight.array_api.fft' has no attribute {name!r}")
    f = getattr(torch.fft, name)
    if name in _SAME:
        return f

    def over_axes(x: Any, /, *, axes: Any = None, **options: Any) -> Any:
        return f(x, dim=axes, **options)
    return over_axes


def __dir__() -> list[str]:
    return sorted(_OVER_AXES + _SAME)
