"""Packages of which a module may have the name of the function in it, which then is what programs mean."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rushlight._engine.lazy import LazyPackage


class NamesakePackage(LazyPackage):
    """`package.name` is the function of that name even after `import package.name`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            value = vars(value).get(name, value)
        super().__setattr__(name, value)


NamesakePackage.__name__ = "module"
