"""torch.fx.annotate: the type of a Proxy's value."""

from __future__ import annotations

from typing import Any

from rushlight.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """`val`; if it is a Proxy, its node gets this type. RuntimeError where the node has one."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                "Tried to annotate a value that already had a type on it! "
                f"Existing type is {val.node.type} and new type is {type}. This could happen if you tried to "
                "annotate a function parameter value (in which case you should use the type slot on the "
                "function signature) or you called annotate on the same value twice"
            )
        val.node.type = type
    return val
