"""torch._export.passes.replace_view_ops_with_view_copy_ops_pass: programs whose views are copies."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._export.pass_base import _ExportPassBaseDeprecatedDoNotUse


def is_view_op(schema: Any) -> bool:
    """Whether what an op gives lies in the memory of its arguments, into which it does not write."""
    told = [p.alias_info for p in schema.arguments if p.alias_info is not None]
    return bool(told) and not any(alias.is_write for alias in told)


def get_view_copy_of_view_op(schema: Any) -> Any:
    """The op that gives a copy of what an op of views gives; None of other ops.

    AttributeError where there is none.
    """
    if not is_view_op(schema) or not schema.name.startswith("aten::"):
        return None
    packet = getattr(torch.ops.aten, f"{schema.name.split('::')[1]}_copy")
    return getattr(packet, schema.overload_name or "default")


class ReplaceViewOpsWithViewCopyOpsPass(_ExportPassBaseDeprecatedDoNotUse):
    """Writes copies in the place of views."""

    def call_operator(self, op: Any, args: Any, kwargs: Any, meta: Any) -> Any:
        """The op, or the one that copies."""
        aten: Any = torch.ops.aten
        if op is aten._unsafe_view.default:
            return super().call_operator(aten.view_copy.default, args, kwargs, meta)
        schema = getattr(op, "_schema", None)
        copying = None if schema is None else get_view_copy_of_view_op(schema)
        return super().call_operator(op if copying is None else copying, args, kwargs, meta)
