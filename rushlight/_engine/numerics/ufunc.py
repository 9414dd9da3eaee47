"""NumPy ufuncs around machine code: an address and its dtypes in, a real `numpy.ufunc` out.

NumPy then does broadcasting, strides, `out=` and allocation at the price of one of its own calls.
Two entries of its C API are used, through ctypes:
  `from_loop`  registers a loop `int (context, char **args, intp *dims, intp *steps, void *)`,
               which gives 0, for any dtypes, elementwise or with core dimensions;
  `from_libm`  lifts a C function of one double (and its float twin) to arrays.
Code and names must outlive the ufunc; everything made here is kept for the life of the process.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

# Positions in the `_UFUNC_API` table (numpy/__ufunc_api.h), and in `_ARRAY_API`; they never change.
_FROM_DATA, _D_D, _F_F, _FROM_SIGNATURE, _ADD_LOOP = 1, 5, 6, 31, 43
_NEW_COPY = 85
_NO_IDENTITY = -1
_NO_CASTING = 0
# Kernels raise flags for inf and nan as PyTorch's do; NumPy is told not to look at them.
_NO_FLOAT_ERRORS = 1 << 1
_STRIDED_LOOP = 5
# Of PyMethodDef: arguments come as an array and their number.
_FASTCALL = 0x80

_alive: list[Any] = []
# The address of the loop of each ufunc made by `from_loop`.
LOOPS: dict[np.ufunc, int] = {}


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("pfunc", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("casting", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("dtypes", ctypes.POINTER(ctypes.py_object)),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def builtin(name: str, address: int, own: Any = None) -> Callable[..., Any]:
    """A function like Python's own, from a PyObject *f(PyObject *own, PyObject *const *args, Py_ssize_t)."""
    method, pointer = _Method(name.encode(), address, _FASTCALL, None), ctypes.c_void_p
    _alive.append(method)
    types = ctypes.py_object, pointer, ctypes.py_object, pointer
    make = ctypes.PYFUNCTYPE(*types)(("PyCFunction_NewEx", ctypes.pythonapi))
    found: Callable[..., Any] = make(ctypes.addressof(method), own, None)
    return found


@cache
def _api(table: str = "_UFUNC_API") -> Any:
    capsule = getattr(sys.modules["numpy._core._multiarray_umath"], table)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def new_copy() -> int:
    """The address of PyArray_NewCopy(array, order)."""
    return int(_api("_ARRAY_API")[_NEW_COPY])


@cache
def _function(index: int, *argtypes: Any) -> Any:
    return ctypes.PYFUNCTYPE(ctypes.py_object, *argtypes)(_api()[index])


def _new(
    name: str,
    doc: str,
    nin: int,
    nout: int,
    signature: str | None,
    loops: Any = None,
    data: Any = None,
    types: Any = None,
    count: int = 0,
) -> np.ufunc:
    c_int, c_char_p, c_void_p = ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
    make = _function(
        _FROM_SIGNATURE,
        c_void_p,
        c_void_p,
        c_void_p,
        c_int,
        c_int,
        c_int,
        c_int,
        c_char_p,
        c_char_p,
        c_int,
        c_char_p,
    )
    texts = [name.encode(), doc.encode(), signature.encode() if signature else None]
    _alive.append((texts, loops, data, types))
    made: np.ufunc = make(loops, data, types, count, nin, nout, _NO_IDENTITY, texts[0], texts[1], 0, texts[2])
    _alive.append(made)
    return made


def from_loop(
    name: str,
    address: int,
    inputs: Sequence[np.dtype[Any]],
    outputs: Sequence[np.dtype[Any]],
    signature: str | None = None,
    doc: str = "",
) -> np.ufunc:
    """A ufunc with one loop, at `address`; `signature` such as "(n),()->(n)" makes it generalised.

    Raises what NumPy raises (ValueError for a bad signature, TypeError for too many operands).
    """
    made = _new(name, doc, len(inputs), len(outputs), signature)
    classes = (ctypes.py_object * (len(inputs) + len(outputs)))(
        *[type(np.dtype(d)) for d in (*inputs, *outputs)]
    )  # type: ignore[misc]
    slots = (_Slot * 2)(_Slot(_STRIDED_LOOP, address), _Slot(0, None))
    spec = _Spec(name.encode(), len(inputs), len(outputs), _NO_CASTING, _NO_FLOAT_ERRORS, classes, slots)
    add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Spec))(_api()[_ADD_LOOP])
    add(made, spec)
    LOOPS[made] = address
    return made


@cache
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL({"win32": "ucrtbase", "darwin": "libm.dylib"}.get(sys.platform, "libm.so.6"))


def libm_address(name: str) -> int | None:
    """Where the C library has `name`, or None."""
    found = getattr(_libm(), name, None)
    return None if found is None else ctypes.cast(found, ctypes.c_void_p).value


@cache
def c_library(name: str) -> np.ufunc:
    """NumPy's function of this name, with the C library's bits where it has one: NumPy's vector loops give
    others on some processors.
    """
    known = libm_address(name) is not None and libm_address(name + "f") is not None
    return from_libm(name) if known else getattr(np, name)


@cache
def from_libm(name: str) -> np.ufunc:
    """The C library's `double name(double)` and `float namef(float)` as a ufunc."""
    double, single = libm_address(name), libm_address(name + "f")
    if double is None or single is None:
        raise NotImplementedError(f"the C library of this system has no {name}")
    loops = (ctypes.c_void_p * 2)(_api()[_F_F], _api()[_D_D])
    data = (ctypes.c_void_p * 2)(single, double)
    types = ctypes.create_string_buffer(bytes([np.dtype("f").num] * 2 + [np.dtype("d").num] * 2))
    return _new(
        name, f"{name} of the C library", 1, 1, None, loops, data, ctypes.cast(types, ctypes.c_void_p), 2
    )
