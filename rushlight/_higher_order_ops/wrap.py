"""torch.ops.higher_order.wrap, a part of a program as it is, tag_activation_checkpoint, one under
checkpoint, and wrap_with_set_grad_enabled and wrap_with_autocast, a part in a mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight._higher_order_ops.operators import Control, _named
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
    """A call of a function, whose ops are those of the program around it; a graph that a backend of compile()
    is given holds them as a graph of their own.
    """

    def __init__(self, name: str = "wrap") -> None:
        super().__init__(name)
        self._qualified_op_name = f"higher_order::{name}"

    def __str__(self) -> str:
        return f"higher_order.{self._name}"

    def __reduce__(self) -> Any:
        return _named, (self._name,)

    def __deepcopy__(self, memo: Any) -> Wrap:
        return self

    def __call__(self, /, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """func(*args, **kwargs)."""
        return self.around(func, {})(*args, **kwargs)

    def around(self, function: Callable[..., Any], how: dict[str, Any]) -> Callable[..., Any]:
        """The function; how: what a graph has beside it."""

        def called(*args: Any, **kwargs: Any) -> Any:
            if not TAPE:
                return function(*args, **kwargs)
            from rushlight._dynamo.graphs.branches import wrapped  # few programs need torch.fx

            return wrapped(self, "wrap_body", how, lambda: function(*args, **kwargs))

        return called


class Checkpointed(Wrap):
    """What a graph that a backend of compile() is given has for torch.utils.checkpoint.checkpoint."""

    def __init__(self) -> None:
        super().__init__("tag_activation_checkpoint")

    def __call__(self, /, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """func(*args); kwargs: how it is to be repeated, which is up to who compiles the graph."""
        return func(*args)


wrap = Wrap()
tag_activation_checkpoint = Checkpointed()
