"""Services: functions of higher folders, and of the public storey, that lower ones ask for by name.

Who asks need not import what answers, and the name leads both ways: to the function, by a table, and to who
asks, by a search. services.tsv says where they are; a folder that is there from the first op on registers its
own in its `__init__` (`kernels/__init__.py`). The module behind a service is imported when the service is
first asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

_Function = Callable[..., Any]
_TABLE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "services.tsv")
_homes: dict[str, str] = {}
_found: dict[str, _Function] = {}


@cache
def table() -> dict[str, str]:
    """services.tsv: name -> "module:function"."""
    with open(_TABLE, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file)


def register(package: str, homes: Mapping[str, str]) -> None:
    """Offer services: name -> "module:function", the module by its name within `package`.

    ValueError where a name is taken by another function.
    """
    for name, home in homes.items():
        full = f"{package}.{home}"
        if _homes.setdefault(name, full) != full:
            raise ValueError(f"the service {name!r} is {_homes[name]} already, and cannot be {full}")


def service(name: str) -> _Function:
    """The function of that name; where neither the table nor anybody else has it, one that answers None."""
    found = _found.get(name)
    if found is None:
        home = _homes.get(name) or table().get(name)
        if home is None:
            return _nothing
        module, _, function = home.partition(":")
        found = _found[name] = getattr(import_module(module), function)
    return found


def _nothing(*_given: Any) -> None:
    """Stands for a service that is not there: as a kernel without machine code, it has done nothing."""
