"""torch.utils._import_utils: is a package there?"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def _check_module_exists(*names: str) -> bool:
    """Whether all these modules could be imported; only the packages that they lie in are."""
    try:
        return all(find_spec(name) is not None for name in names)
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether dill is installed."""
    return _check_module_exists("dill")


@cache
def import_dill() -> ModuleType | None:
    """dill, or None without it; its changes to Python's own pickle, for all of the program, are undone."""
    if not dill_available():
        return None
    dill = import_module("dill")
    dill.extend(use_dill=False)
    return dill
