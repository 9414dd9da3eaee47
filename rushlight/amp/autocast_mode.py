"""autocast: an interpreter in the door that casts operands by each row's policy.

A row's `autocast` fact says "lower" (products and convolutions run in bfloat16 or float16), "float32"
(losses and norms run in float32), "refuse", or "keep" (whatever the operands are).
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from rushlight.base import dtype as dt
from rushlight.dispatch import state
from rushlight.tensor.tensor import Tensor


class _Local(threading.local):
    enabled = False
    dtype = dt.bfloat16


_local = _Local()


class _Interpreter:
    """What stands in the door inside autocast."""

    def __init__(self, dtype: dt.dtype) -> None:
        self.dtype = dtype

    def run(self, row: Any, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Cast the floating operands as the row's policy says, and run the op."""
        policy = row.autocast
        if policy == "refuse":
            raise RuntimeError(f"torch.nn.functional.{row.name} and torch.nn.BCELoss are unsafe to autocast. "
                               "Use torch.nn.functional.binary_cross_entropy_with_logits or torch.nn."
                               "BCEWithLogitsLoss, which are safe to autocast.")
        if policy == "keep":
            # Composites without a policy are seen through: the rows inside have their own.
            if row.kind == "composite" and row.vjp is None:
                return _inside(self, call, args, kwargs)
            return call(*args, **kwargs)
        target = self.dtype if policy == "lower" else dt.float32
        cast = functools.partial(_cast, target)
        return call(*map(cast, args), **{k: cast(v) for k, v in kwargs.items()})


def _inside(mode: _Interpreter, call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    state.STACK.modes.append(mode)
    try:
        return call(*args, **kwargs)
    finally:
        state.STACK.modes.pop()


_CASTABLE = frozenset({dt.float32, dt.float16, dt.bfloat16})


def _cast(target: dt.dtype, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(target) if value._k.dtype in _CASTABLE and value._k.dtype is not target else value
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(target, v) for v in value)
    return value


class autocast:
    """Inside, matrix products and convolutions run in `dtype`, numerically delicate ops in float32.

    device_type: "cpu" ("cuda" is accepted and does nothing without CUDA). dtype: bfloat16 by default.
    """

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda", "mps", "xpu"):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = dt.bfloat16 if dtype is None else dtype
        if self.fast_dtype not in (dt.bfloat16, dt.float16):
            import warnings

            warnings.warn(f"In {device_type.upper()} autocast, but the target dtype is not supported. "
                          "Disabling autocast.", UserWarning, stacklevel=2)
            enabled = False
        self._enabled = enabled and device_type == "cpu"

    def __enter__(self) -> "autocast":
        self._before = (_local.enabled, _local.dtype)
        # Leaving autocast inside autocast: the interpreters wait outside.
        self._modes, state.STACK.modes = state.STACK.modes, [
            m for m in state.STACK.modes if not isinstance(m, _Interpreter)]
        self._mode = _Interpreter(self.fast_dtype) if self._enabled else None
        if self._mode is not None:
            state.STACK.modes.append(self._mode)
            state.MODES.append(self._mode)
        _local.enabled, _local.dtype = self._enabled, self.fast_dtype
        return self

    def __exit__(self, *error: Any) -> None:
        state.STACK.modes = self._modes
        if self._mode is not None:
            state.MODES.remove(self._mode)
        _local.enabled, _local.dtype = self._before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled):
                return function(*args, **kwargs)
        return inside


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on in this thread (for the CPU)."""
    return _local.enabled and device_type in (None, "cpu")


def get_autocast_dtype(device_type: str = "cpu") -> dt.dtype:
    """The dtype that products are cast to."""
    return _local.dtype if device_type == "cpu" else dt.float16


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device type."""
    return device_type == "cpu"


def autocast_decrement_nesting() -> int:
    """0: casts are not cached."""
    return 0


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """Decorator for Function.forward: run it without autocast, inputs cast to `cast_inputs`."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args[0]._fwd_used_autocast = is_autocast_enabled()
        if cast_inputs is None or not is_autocast_enabled():
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*[_cast(cast_inputs, a) for a in args],
                       **{k: _cast(cast_inputs, v) for k, v in kwargs.items()})
    return wrapper


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """Decorator for Function.backward: the autocast state of its forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)
    return wrapper
