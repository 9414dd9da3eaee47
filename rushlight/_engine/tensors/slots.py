"""Slots of Python objects, read and filled by machine code where Python's own way costs more than the work.

Without LLVM (or in an interpreter without a lock, whose objects begin otherwise) each function here answers
None, and its caller has a way in Python.
"""

from __future__ import annotations

import ctypes
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import native
from rushlight._engine.numerics.ufunc import builtin, new_copy

# What the machine code calls of Python.
_PYTHON = (
    "PyBool_FromLong",
    "PyDict_GetItem",
    "PyDict_SetItem",
    "PyList_Append",
    "PyList_GetItem",
    "PyList_New",
    "PyList_Size",
    "PyLong_AsLongLong",
    "PyNumber_Add",
    "PyObject_CallNoArgs",
    "PyObject_Vectorcall",
    "PyTuple_GetItem",
    "PyType_GenericAlloc",
    "PyType_IsSubtype",
    "PyWeakref_NewRef",
    "Py_DecRef",
    "Py_IncRef",
)
# Of a slot's descriptor: where it points to what C says of the member; of that: where the offset stands.
_MEMBER, _OFFSET = 40, 16


@cache
def offset(cls: type, name: str) -> int:
    """Where an instance of `cls` has the slot that `cls` itself declares, in bytes."""
    descriptor = vars(cls)[name]
    member: Any = ctypes.c_void_p.from_address(id(descriptor) + _MEMBER).value
    return ctypes.c_ssize_t.from_address(member + _OFFSET).value


def _holds(thing: Any, cls: type, name: str) -> bool:
    """Whether that is so of an object whose slot is filled."""
    at = offset(cls, name)
    return 0 < at < cls.__basicsize__ and (
        ctypes.c_void_p.from_address(id(thing) + at).value == id(getattr(thing, name))
    )


def usable(things: list[tuple[Any, type, tuple[str, ...]]]) -> bool:
    """Whether machine code may be told where slots are; things: objects with these slots filled."""
    return (
        settings.kernels != "numpy"
        and target.available()
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and ctypes.sizeof(ctypes.c_void_p) == ctypes.sizeof(ctypes.c_ssize_t) == 8
        and all(_holds(thing, cls, name) for thing, cls, names in things for name in names)
    )


def made(kind: str, own: tuple[Any, ...], *parameters: Any) -> Callable[..., Any]:
    """A builtin of slot_code.py, write_KIND; own: its `self`."""

    def write(module: Any, name: str) -> None:
        # Here, since what is on the disk is not written.
        from rushlight._engine.kernels.emit import slot_code

        getattr(slot_code, f"write_{kind}")(module, name, *parameters)

    return builtin(kind, native.address(f"slot {kind}", repr(parameters), write, _python()), own)


@cache
def _python() -> dict[str, int]:
    found = {n: ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0 for n in _PYTHON}
    return found | {"PyArray_NewCopy": new_copy()}


def asking(cls: type, slot: Any, name: str, otherwise: Callable[[Any, str], Any]) -> Any:
    """A property that reads and fills a slot of `cls`; `otherwise(object, name)` answers for an empty one."""
    at = offset(cls, slot.__name__)

    def empty(thing: Any) -> Any:
        return otherwise(thing, name)

    own = cls, empty
    return property(made("reader", own, at), made("writer", own, at), slot.__delete__)


def offsets(cls: type, *names: str) -> dict[str, int]:
    """Where an instance of `cls` has slots that `cls` itself declares."""
    return {name: offset(cls, name) for name in names}
