"""Packages whose names are found at first mention: importing the package stays cheap."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(names: dict[str, Any], homes: Mapping[str, str], modules: Collection[str] = ()
               ) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions __getattr__ and __dir__ of a package, whose globals() are `names`.

    homes: the file, within the package, of each name that comes from one. modules: the files and
    packages that are names themselves. AttributeError, as PyTorch words it, for other names.
    """
    package: str = names["__name__"]

    def __getattr__(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(f"{package}.{homes[name]}"), name)
        elif name in modules:
            found = import_module(f"{package}.{name}")
        else:
            public = package.replace("rushlight", "torch", 1)
            raise AttributeError(f"module {public!r} has no attribute {name!r}")
        names[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*names, *homes, *modules})

    return __getattr__, __dir__
