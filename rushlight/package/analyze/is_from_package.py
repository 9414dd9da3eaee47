"""Whether something comes from a package."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rushlight.package._mangling import is_mangled


def is_from_package(obj: Any) -> bool:
    """Whether a module, or an object's class, was loaded by a PackageImporter."""
    return is_mangled(obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__)


__all__ = ["is_from_package"]
