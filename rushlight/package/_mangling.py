"""Names of what comes from a package: they begin with the package's mark, `<torch_package_0>`."""

from __future__ import annotations

import re
from itertools import count

_numbers = count()
_MARK = re.compile(r"<torch_package_\d+>")


class PackageMangler:
    """Puts one package's mark before names."""

    def __init__(self) -> None:
        self._mangle_parent = f"<torch_package_{next(_numbers)}>"

    def mangle(self, name: str) -> str:
        """A name with the mark."""
        if not name:
            raise AssertionError("a name is needed")
        return f"{self._mangle_parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """The name without this package's mark; names without it stay as they are."""
        return mangled.partition(".")[2] if mangled.startswith(f"{self._mangle_parent}.") else mangled

    def parent_name(self) -> str:
        """The mark."""
        return self._mangle_parent


def is_mangled(name: str) -> bool:
    """Whether a name has a package's mark."""
    return _MARK.match(name) is not None


def demangle(name: str) -> str:
    """A name without its mark, whichever package's it is."""
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """The mark of a name; the name itself where it has none."""
    return name.partition(".")[0] if is_mangled(name) else name


def check_not_mangled(name: str) -> None:
    """AssertionError for a name that has a mark."""
    if is_mangled(name):
        raise AssertionError(f"{name} is the name of what a package holds")


__all__ = ["PackageMangler", "check_not_mangled", "demangle", "get_mangle_prefix", "is_mangled"]
