"""Autocast's state in this thread, by device type: torch.is_autocast_enabled and its like."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.device import device
from rushlight.amp.casting import THREAD, enable

# The types of devices that PyTorch has autocast for, and what it casts to there.
_DEFAULTS = {
    "cpu": dt.bfloat16,
    "xla": dt.bfloat16,
    "hpu": dt.bfloat16,
    "cuda": dt.float16,
    "mps": dt.float16,
    "xpu": dt.float16,
    "ipu": dt.float16,
    "maia": dt.float16,
    "mtia": dt.float16,
}


def _need(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what}, not {type(value).__name__}")


def _type_of(name: str, device_type: Any) -> str:
    _need(device_type, str, f"{name}(): argument 'device_type' (position 1) must be str")
    return device(device_type).type


def _known(name: str, device_type: Any) -> str:
    found = _type_of(name, device_type)
    if found not in _DEFAULTS:
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type: "
            f"got {found!r}, expected one of {', '.join(_DEFAULTS)}"
        )
    return found


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device. RuntimeError where there is no such type."""
    return _type_of("is_autocast_available", device_type) in _DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on in this thread for a type of device; without an argument, for CUDA."""
    return THREAD.enabled.get(_known("is_autocast_enabled", device_type), False)


def set_autocast_enabled(device_type: Any, enabled: Any = None) -> None:
    """Switch autocast on or off for a type of device, or, with one argument, for CUDA."""
    if enabled is None and isinstance(device_type, bool):
        device_type, enabled = "cuda", device_type
    _need(enabled, bool, "set_autocast_enabled(): argument 'enabled' (position 2) must be bool")
    enable(_known("set_autocast_enabled", device_type), enabled)


def get_autocast_dtype(device_type: str) -> dt.dtype:
    """The type that products are cast to: by default bfloat16 for the CPU, float16 for CUDA."""
    found = _type_of("get_autocast_dtype", device_type)
    if found not in _DEFAULTS:
        raise RuntimeError(
            f"unsupported scalarType: there is no autocast for {found!r}, only for {', '.join(_DEFAULTS)}"
        )
    return THREAD.dtypes.get(found, _DEFAULTS[found])


def set_autocast_dtype(device_type: str, dtype: dt.dtype) -> None:
    """Set the type that products are cast to."""
    _need(dtype, dt.dtype, "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype")
    found = _known("set_autocast_dtype", device_type)
    THREAD.dtypes[found] = dtype
    if found in THREAD.castings:
        THREAD.castings[found].dtype = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether a weight is cast once for all its uses inside autocast."""
    return THREAD.castings["cpu"].keeps_weights


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of weights are kept."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    for casting in THREAD.castings.values():
        casting.keeps_weights = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of weights."""
    for casting in THREAD.castings.values():
        casting.forget_weights()


def entered(device_type: str, enabled: bool, dtype: dt.dtype, keeps_weights: bool) -> tuple[Any, ...]:
    """Enter an autocast of a known type of device: what `left` sets again when that is left."""
    here = THREAD
    before = (
        here.enabled.get(device_type, False),
        here.dtypes.get(device_type, _DEFAULTS[device_type]),
        here.castings["cpu"].keeps_weights,
    )
    _set(device_type, enabled, dtype, keeps_weights)
    here.nesting += 1
    return before


def left(device_type: str, enabled: bool, dtype: dt.dtype, keeps_weights: bool) -> None:
    """Leave an autocast; the outermost one forgets the casts of weights."""
    if autocast_decrement_nesting() == 0:
        clear_autocast_cache()
    _set(device_type, enabled, dtype, keeps_weights)


def _set(device_type: str, enabled: bool, dtype: dt.dtype, keeps_weights: bool) -> None:
    """set_autocast_enabled, set_autocast_dtype and set_autocast_cache_enabled of what is known to fit."""
    if not enabled.__class__ is keeps_weights.__class__ is bool or dtype.__class__ is not dt.dtype:
        set_autocast_enabled(device_type, enabled)
        set_autocast_dtype(device_type, dtype)
        set_autocast_cache_enabled(keeps_weights)
    here = THREAD
    if enabled != here.enabled.get(device_type):
        enable(device_type, enabled)
    here.dtypes[device_type] = dtype
    for of, casting in here.castings.items():
        casting.keeps_weights = keeps_weights
        if of == device_type:
            casting.dtype = dtype


def autocast_increment_nesting() -> int:
    """Enter; how many autocasts are entered now."""
    THREAD.nesting += 1
    return THREAD.nesting


def autocast_decrement_nesting() -> int:
    """Leave; how many autocasts are still entered."""
    THREAD.nesting -= 1
    return THREAD.nesting


def _older(name: str, device_type: str, instead: Callable[..., Any], takes: str = "") -> Callable[..., Any]:
    """The spelling with the device type in its name, with a DeprecationWarning."""
    shown = f"{instead.__name__}('{device_type}'{', ' + takes if takes else ''})"

    @functools.wraps(instead)
    def call(*args: Any) -> Any:
        warn(f"torch.{name}({takes}) is deprecated. Please use torch.{shown} instead.", DeprecationWarning)
        if takes == "enabled" and not isinstance(args[0], bool):
            raise TypeError(f"enabled must be a bool (got {type(args[0]).__name__})")
        return instead(device_type, *args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"torch.{shown}."
    return call


is_autocast_cpu_enabled = _older("is_autocast_cpu_enabled", "cpu", is_autocast_enabled)
set_autocast_cpu_enabled = _older("set_autocast_cpu_enabled", "cpu", set_autocast_enabled, "enabled")
get_autocast_cpu_dtype = _older("get_autocast_cpu_dtype", "cpu", get_autocast_dtype)
set_autocast_cpu_dtype = _older("set_autocast_cpu_dtype", "cpu", set_autocast_dtype, "dtype")
get_autocast_gpu_dtype = _older("get_autocast_gpu_dtype", "cuda", get_autocast_dtype)
set_autocast_gpu_dtype = _older("set_autocast_gpu_dtype", "cuda", set_autocast_dtype, "dtype")
