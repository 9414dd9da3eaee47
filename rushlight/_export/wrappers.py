"""torch._export.wrappers: marks of what exported programs may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["mark_subclass_constructor_exportable_experimental"]


def mark_subclass_constructor_exportable_experimental(
    constructor_subclass: Callable[..., Any],
) -> Callable[..., Any]:
    """Mark the `__init__` of a class of tensors as one that programs call; the same function, since such
    calls are recorded as what they do. RuntimeError for other functions.
    """
    if constructor_subclass.__name__ != "__init__":
        raise RuntimeError(
            "torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on subclass "
            f"tensor.__init__. But, you are adding it on {constructor_subclass.__name__} which is not "
            "supported. If __init__ doesn't exist on your subclass, please add it. Look at DTensor.__init__ "
            "implementation for example"
        )
    return constructor_subclass
