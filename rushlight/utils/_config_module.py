"""torch.utils._config_module: `patch` of PyTorch's modules of settings.

A context, or a decorator, in which they have other values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

Patch = Callable[..., AbstractContextManager[Any] | Callable[..., Any]]


def patcher(module: str) -> Patch:
    """The `patch` of a module: patch(name=value), patch({name: value}) or patch(name, value)."""

    def patch(changes: dict[str, Any] | str | None = None, value: Any = None, **named: Any) -> Any:
        """A context, or a decorator, in which settings have other values."""
        from unittest import mock

        given = {changes: value} if isinstance(changes, str) else {**(changes or {}), **named}
        return mock.patch.multiple(module, create=True, **given)

    return patch
