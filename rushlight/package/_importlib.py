"""Small parts of Python's import machinery."""

from __future__ import annotations

import os
from typing import Any


def _normalize_line_endings(source: bytes) -> bytes:
    """A text whose lines end as Python's compiler wants them."""
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _resolve_name(name: str, package: str, level: int) -> str:
    """The full name of what is imported relatively; ImportError where that leaves the package."""
    above = package.rsplit(".", level - 1)
    if len(above) < level:
        raise ImportError("attempted relative import beyond top-level package")
    return f"{above[0]}.{name}" if name else above[0]


def _sanity_check(name: Any, package: Any, level: int) -> None:
    """What import refuses at once."""
    if not isinstance(name, str):
        raise TypeError(f"module name must be str, not {type(name)}")
    if level < 0:
        raise ValueError("level must be >= 0")
    if level > 0 and not isinstance(package, str):
        raise TypeError("__package__ not set to a string")
    if level > 0 and not package:
        raise ImportError("attempted relative import with no known parent package")
    if not name and level == 0:
        raise ValueError("Empty module name")


def _calc___package__(names: dict[str, Any]) -> str:
    """The package that a module's relative imports start from, by the module's globals."""
    package = names.get("__package__")
    if package is not None:
        return str(package)
    spec = names.get("__spec__")
    if spec is not None:
        return str(spec.parent)
    own = str(names["__name__"])
    return own if "__path__" in names else own.rpartition(".")[0]


def _normalize_path(path: Any) -> str:
    """A file's name; ValueError where it has a folder before it."""
    parent, name = os.path.split(os.fspath(path))
    if parent:
        raise ValueError(f"{path!r} must be only a file name")
    return str(name)
