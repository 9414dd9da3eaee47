"""torch._library.utils: ops by their names."""

from __future__ import annotations

from typing import Any

import rushlight as torch


def parse_namespace(qualname: str) -> tuple[str, str]:
    """(namespace, name) of "namespace::name"; ValueError for anything else."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{qualname}. The qualname passed to the torch.library APIs must consist of a namespace and a "
            "name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """torch.ops.NAMESPACE.NAME.OVERLOAD of "namespace::name.overload"; without an overload, the default."""
    space, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, space), name), overload or "default")
