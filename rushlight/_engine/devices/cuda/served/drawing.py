"""Random numbers by the device's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROWS: dict[str, Callable[..., Any]] = {}
