"""What programs say about sizes to a compiler that bakes them in: kernels here take sizes at run time."""

from __future__ import annotations

from typing import Any


def mark_dynamic(t: Any, index: Any = None, **options: Any) -> None:
    """Nothing to do: kernels take sizes at run time, and guards look where tensors lie."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_unbacked = mark_dynamic
