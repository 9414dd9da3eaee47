"""torch.ops.higher_order.wrap, a part of a program as it is, and wrap_with_set_grad_enabled and
wrap_with_autocast, a part in a mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight._higher_order_ops.operators import Control
from rushlight._ops import HigherOrderOperator


def _with_grad(enabled: bool, function: Callable[..., Any], *operands: Any) -> Any:
    with torch.set_grad_enabled(enabled):
        return function(*operands)


def _with_autocast(
    device_type: str,
    dtype: Any,
    enabled: bool,
    cache_enabled: bool,
    function: Callable[..., Any],
    *operands: Any,
) -> Any:
    with torch.autocast(device_type, dtype, enabled, cache_enabled):
        return function(*operands)


def _grad_recorded(listener: Any, enabled: bool, function: Callable[..., Any], *operands: Any) -> Any:
    """The part's ops, noted to be in the mode."""
    with listener.within_grad(enabled):
        return _with_grad(enabled, function, *operands)


def _autocast_recorded(
    listener: Any,
    device_type: str,
    dtype: Any,
    enabled: bool,
    cache_enabled: bool,
    function: Callable[..., Any],
    *operands: Any,
) -> Any:
    """The part's ops, noted to be in the mode; of a program that is decomposed, the casts."""
    given = device_type, dtype, enabled, cache_enabled
    if listener.decomposes:
        with torch.autocast(*given), listener.hearing_casts():
            return function(*operands)
    with listener.within_autocast(given):
        return _with_autocast(*given, function, *operands)


wrap_with_set_grad_enabled = Control("wrap_with_set_grad_enabled", _with_grad, _grad_recorded)
wrap_with_autocast = Control("wrap_with_autocast", _with_autocast, _autocast_recorded)


class Wrap(HigherOrderOperator):
    """A call of a function, whose ops are those of the program around it."""

    def __init__(self) -> None:
        super().__init__("wrap")
        self._qualified_op_name = "higher_order::wrap"

    def __str__(self) -> str:
        return "higher_order.wrap"

    def __call__(self, /, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """func(*args, **kwargs)."""
        if not TAPE:
            return func(*args, **kwargs)
        from rushlight._dynamo.branches import wrapped  # few programs need torch.fx

        return wrapped(self, "wrap_body", {}, lambda: func(*args, **kwargs))


wrap = Wrap()
