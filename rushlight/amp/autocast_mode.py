"""autocast, a context and a decorator, and what makes custom autograd Functions follow it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from rushlight._engine.core import accelerator, dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.tensors.tensor import Tensor
from rushlight.amp import state
from rushlight.amp.casting import castable
from rushlight.amp.state import is_autocast_available

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = (dt.bfloat16, dt.float16)


def _checked_type(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type


class autocast:
    """Inside, matrix products and convolutions run in `dtype`, numerically delicate ops in float32.

    device_type: "cpu" or "cuda"; those of devices that are not there are accepted and change nothing, "cuda"
    with a UserWarning. dtype: bfloat16 or float16, default get_autocast_dtype(device_type); others warn and
    disable.
    enabled=False: ops run as they are, inside another autocast too. cache_enabled: cast each weight once.
    RuntimeError for an unknown device type.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dt.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _checked_type(device_type)
        self._given = dtype, cache_enabled
        self.fast_dtype = state.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        problem = self._problem() if enabled else None
        if problem:
            warn(problem)
        self._enabled = False if problem else enabled

    def _problem(self) -> str | None:
        """Why it cannot be enabled."""
        if self.device == "cuda" and accelerator.platform() is None:
            return "CUDA is not available or torch_xla is imported. Disabling autocast."
        if self.fast_dtype in _SUPPORTED:
            return None
        name = self.device.upper()
        if self.device == "cuda":
            return None
        return (
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} "
            f"Autocast only supports dtypes of {', '.join(map(str, _SUPPORTED))} currently."
        )

    def __enter__(self) -> autocast:
        before = state.entered(self.device, self._enabled, self.fast_dtype, self._cache_enabled)
        self.prev, self.prev_fastdtype, self.prev_cache_enabled = before
        return self

    def __exit__(self, *error: Any) -> None:
        state.left(self.device, self.prev, self.prev_fastdtype, self.prev_cache_enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run under this autocast at each call; TypeError for what is not callable."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n    with torch."
                "autocast(device_type=...):\n        output = model(input)"
            )
        return autocast_decorator(self, func)


def warn_of_older(device: str) -> None:
    """What torch.DEVICE.amp.autocast says when it is made."""
    warn(
        f"`torch.{device}.amp.autocast(args...)` is deprecated. Please use "
        f"`torch.amp.autocast('{device}', args...)` instead.",
        FutureWarning,
    )


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """func, called inside the given autocast."""

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return inside


def _cast(value: Any, device_type: str, dtype: dt.dtype) -> Any:
    """Tensors of the device, also those in containers, as `dtype`."""
    if isinstance(value, Tensor):
        return value.to(dtype) if castable(value, device_type) else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        items = (_cast(v, device_type, dtype) for v in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dt.dtype | None = None
) -> Any:
    """Decorator for Function.forward: inside autocast, run it without, with inputs cast to `cast_inputs`.

    Without `cast_inputs`, and outside autocast, it runs as it is. Write the static method outermost.
    """
    _checked_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        context, active = args[0], state.is_autocast_enabled(device_type)
        context._dtype = state.get_autocast_dtype(device_type)
        context._fwd_used_autocast = active and cast_inputs is None
        if not active or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *(_cast(a, device_type, cast_inputs) for a in args), **_cast(kwargs, device_type, cast_inputs)
            )

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorator for Function.backward: it runs with the autocast state of its forward."""
    _checked_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward
