"""torch._higher_order_ops.InvokeQuant: parts of a program that a backend may compute in fewer bits.

Here they are computed as they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from rushlight._higher_order_ops.operators import Control

__all__ = ["InvokeQuant", "invoke_quant_packed"]


def _run(function: Callable[..., Any], *operands: Any, scheme: Any = None, quant_options: Any = None) -> Any:
    return function(*operands)


def _recorded(listener: Any, function: Callable[..., Any], *operands: Any, **told: Any) -> Any:
    """The function as a graph of its own."""
    flat = {"scheme": None, "quant_options": None} | told
    body = listener.function(function, operands)
    return listener.called(invoke_quant_packed, (), [body], ["subgraph"], operands, body, flat=flat)


invoke_quant_packed = Control("invoke_quant_packed", _run, _recorded)


@dataclass(frozen=True)
class InvokeQuant:
    """Calls functions as parts of a program that a backend may compute in fewer bits."""

    codegen_low_precision: bool = True

    def __call__(
        self, function: Callable[..., Any], /, *operands: Any, scheme: str | None = None, **kwargs: Any
    ) -> Any:
        """function(*operands, **kwargs), a part of its own of an exported program. scheme: a name for the
        backend.
        """
        called = partial(function, **kwargs)
        return invoke_quant_packed(called, *operands, scheme=scheme, quant_options=asdict(self))
