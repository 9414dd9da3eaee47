"""torch.return_types: named tuples of ops with several results."""
from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=None)
def named(op: str, *fields: str) -> Any:
    """The result type of an op: (values, indices) unless fields are given; prints as PyTorch's."""
    base = namedtuple(op, fields or ("values", "indices"))  # type: ignore[misc]

    def show(self: Any) -> str:
        inner = "\n".join(f"{name}={value!r}," for name, value in zip(base._fields, self, strict=True))
        return f"torch.return_types.{op}(\n{inner[:-1]})"
    return type(op, (base,), {"__slots__": (), "__repr__": show, "__module__": "torch.return_types"})
