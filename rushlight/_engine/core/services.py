"""Services: functions of higher folders that lower ones ask for by name.

What a folder offers it registers in one table (`kernels/__init__.py`); who asks need not import it. The name
leads both ways: to the function, by the table, and to who asks, by a search. The module behind a service is
imported when the service is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_Function = Callable[..., Any]
_homes: dict[str, str] = {}
_found: dict[str, _Function] = {}


def register(package: str, homes: Mapping[str, str]) -> None:
    """Offer services: name -> "module:function", the module by its name within `package`.

    ValueError where a name is taken by another function.
    """
    for name, home in homes.items():
        full = f"{package}.{home}"
        if _homes.setdefault(name, full) != full:
            raise ValueError(f"the service {name!r} is {_homes[name]} already, and cannot be {full}")


def service(name: str) -> _Function:
    """The function of that name; where nobody has registered it, one that answers None."""
    found = _found.get(name)
    if found is None:
        home = _homes.get(name)
        if home is None:
            return _nothing
        module, _, function = home.partition(":")
        found = _found[name] = getattr(import_module(module), function)
    return found


def _nothing(*_given: Any) -> None:
    """Stands for a service that is not there: as a kernel without machine code, it has done nothing."""
