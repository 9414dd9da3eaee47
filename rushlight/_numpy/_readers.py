"""Whether a function may hand its arrays to code that reads NumPy's memory itself."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_HOMES = sys.stdlib_module_names | {"numpy", "rushlight", "torch"}  # whose functions take our arrays
_READERS = (memoryview, np.frombuffer)  # which do not
_READ_BY = {"__array_interface__", "__array_struct__", "as_ctypes"}  # names that say the same
_MOST = 500  # functions that are looked at


def reads_memory(function: Any) -> bool:
    """Whether a function, or one that it names, names functions of extension modules other than NumPy's:
    these may refuse an array that is not NumPy's own. Names of objects' methods are not followed.
    """
    rest, seen = [function], set[CodeType]()
    while rest:
        value = rest.pop()
        value = value.func if isinstance(value, partial) else value
        if any(value is r for r in _READERS):
            return True
        if not callable(value) or isinstance(value, type) or _home(value) in _HOMES:
            continue
        code = _code(value)
        if code is None or len(seen) >= _MOST or not _READ_BY.isdisjoint(_names(code.__code__)):
            return True
        if code.__code__ not in seen:
            seen.add(code.__code__)
            rest += _named(code, value)
    return False


def _home(value: Any) -> str:
    """The package that a function is of; of an object, that of its class."""
    owner = getattr(value, "__self__", None)
    name = getattr(value, "__module__", None) or ("" if owner is None else type(owner).__module__)
    return str(name).partition(".")[0]


def _code(value: Any) -> Any:
    """The function of Python's that a call comes to, if it is one."""
    if isinstance(value, (FunctionType, MethodType)):
        return getattr(value, "__func__", value)
    own = type(value)
    call = inspect.getattr_static(own, "forward", None) or inspect.getattr_static(own, "__call__", None)
    return call if isinstance(call, FunctionType) else None


def _named(function: FunctionType, value: Any) -> Iterator[Any]:
    """What the names in a function may mean."""
    names = _names(function.__code__)
    built = vars(builtins)
    found = [function.__globals__.get(n, built.get(n, sys.modules.get(n))) for n in names]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not yet filled
            continue
    owner = getattr(value, "__self__", None if isinstance(value, FunctionType) else value)
    own = [inspect.getattr_static(owner, n, None) for n in names if owner is not None]
    found += [MethodType(v, owner) if isinstance(v, FunctionType) else v for v in own]
    modules = [v for v in found if isinstance(v, ModuleType)]
    for module in modules:
        inner = [vars(module)[n] for n in names if n in vars(module)]
        modules += [m for m in inner if isinstance(m, ModuleType) and m not in modules]
        found += inner
    yield from found


def _names(code: CodeType) -> set[str]:
    """The names in a code and those within it."""
    return {*code.co_names}.union(*[_names(c) for c in code.co_consts if isinstance(c, CodeType)])
