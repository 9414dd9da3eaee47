"""Settings of PyTorch's compiler, which programs assign to: they are kept, and change nothing here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from rushlight._engine.names.alternatives import attribute

max_autotune = max_autotune_gemm = coordinate_descent_tuning = False
epilogue_fusion = freezing = cpp_wrapper = False
fx_graph_cache = True


def __getattr__(name: str) -> Any:
    """The others have PyTorch's defaults."""
    return attribute("rushlight._inductor.config", name)


def patch(
    changes: dict[str, Any] | str | None = None, value: Any = None, **named: Any
) -> AbstractContextManager[Any] | Callable[..., Any]:
    """A context, or a decorator, in which settings have other values."""
    given = {changes: value} if isinstance(changes, str) else {**(changes or {}), **named}
    return mock.patch.multiple(__name__, create=True, **given)
