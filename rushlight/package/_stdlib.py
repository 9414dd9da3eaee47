"""Python's standard library: which modules are part of it."""

from __future__ import annotations

import sys


def is_stdlib_module(module: str) -> bool:
    """Whether a module, or the package that it lies in, is of the standard library."""
    return module.partition(".")[0] in _get_stdlib_modules()


def _get_stdlib_modules() -> frozenset[str]:
    return sys.stdlib_module_names


__all__ = ["is_stdlib_module"]
