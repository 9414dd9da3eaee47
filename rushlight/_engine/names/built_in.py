"""Functions written in Python as built-in ones, for names that PyTorch has in compiled code.

What is built in does not bind: of `class Net: act = torch.tanh`, `self.act(x)` is `torch.tanh(x)`; an Enum's
members can be such functions; programs ask `isinstance(f, types.BuiltinFunctionType)`. Of ops' functions
dispatch/spellings.py says which they are, of other functions of `torch` built_in.tsv.
"""

from __future__ import annotations

import copyreg
import ctypes
import inspect
import os
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from rushlight._engine.core.services import service
from rushlight._engine.lazy import package

_P = ParamSpec("_P")
_R = TypeVar("_R")

with open(os.path.join(os.path.dirname(__file__), "built_in.tsv"), encoding="utf-8") as _file:
    _NAMES = frozenset(_file.read().split())

_FAST, _KEYWORDS = 0x80, 0x02  # METH_FASTCALL, METH_KEYWORDS


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# PyObject_Vectorcall(callable, args, count, keywords) has the parameters of a C function that takes keywords,
# PyCFunctionFastWithKeywords(self, args, count, keywords): with a function for `self` it calls that.
_CALL = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Definition), ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


def built_in(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The built-in function that calls `function`, with its name, module, documentation and signature: the
    same at every call.
    """
    inner = cast(Any, function)
    known = vars(inner).get("built_in")
    if known is None:
        text = _head(inner.__name__, inspect.signature(inner)) + (inner.__doc__ or "")
        definition = _Definition(inner.__name__.encode(), _CALL, _FAST | _KEYWORDS, text.encode())
        # A built-in function looks at its definition until its very end, which may be the process's.
        _keep(definition)
        made = _new(ctypes.byref(definition), inner, inner.__module__)
        known = vars(inner).setdefault("built_in", made)  # threads that made one each keep the first
    return cast("Callable[_P, _R]", known)


def _head(name: str, signature: inspect.Signature) -> str:
    """The beginning of a built-in function's documentation from which CPython reads its signature; "" where
    a default is no plain constant.
    """
    parts: list[str] = []
    marked = False
    for p in signature.parameters.values():
        if p.default is not p.empty and not (p.default is None or p.default.__class__ in _CONSTANTS):
            return ""
        if p.kind is p.KEYWORD_ONLY and not marked:
            parts.append("*")
        marked = marked or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = "*" * (p.kind is p.VAR_POSITIONAL) + "**" * (p.kind is p.VAR_KEYWORD)
        shown = stars + p.name
        parts.append(shown if p.default is p.empty else f"{shown}={p.default!r}")
    return f"{name}({', '.join(parts)})\n--\n\n"


_CONSTANTS = frozenset((int, float, bool, str, tuple))


def as_published(name: str, found: Any) -> Any:
    """What programs get for the name `torch.NAME`, of which `found` is what is written for it."""
    if found.__class__ is not FunctionType or name not in _NAMES:
        return found
    found.__module__, found.__name__, found.__qualname__ = package(), name, name
    return built_in(_asking(found) if name in _UNASKED else found)


# Functions, no rows, that do not ask for themselves who takes them over.
_UNASKED = frozenset(
    "_assert_async _functional_assert_async _rowwise_prune affine_grid_generator dequantize detach dsmm "
    "frobenius_norm fused_moving_avg_obs_fake_quant hsmm hspmm int_repr is_distributed native_norm "
    "norm_except_dim nuclear_norm q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale "
    "q_zero_point quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic saddmm smm "
    "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
    "sparse_csr_tensor spmm sspaddmm".split()
)


def _asking(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks the classes of its arguments, and modes, before it does what `plain` does."""
    call: Callable[..., Any] = service("function that asks")(plain, published)
    vars(call).pop("built_in", None)
    return cast("Callable[..., Any]", vars(plain).setdefault("asking", call))


def published(function: Any) -> Any:
    """The built-in function that programs have in place of a function, if they have one; else itself."""
    if function.__class__ is not FunctionType:
        return function
    return vars(function).get("built_in", function)


def plain(found: Any) -> Any:
    """The function in Python behind one that `built_in` has made; anything else as it is."""
    if found.__class__ is BuiltinFunctionType and found.__self__.__class__ is FunctionType:
        return found.__self__
    return found


def _reduced(found: Any) -> Any:
    """How pickles refer to a built-in function: ours by the name under which it is published."""
    inner = plain(found)
    return found.__reduce__() if inner is found else inner.__qualname__


copyreg.pickle(BuiltinFunctionType, _reduced)
