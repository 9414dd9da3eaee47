"""Launches as a builtin of machine code: Python's numbers to cuLaunchKernel's arguments, in one call.

Through ctypes a launch takes the host a few times as long. Where there is no LLVM, or the driver is an
imitation of Python's functions, launches go through ctypes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.emit.python_builtins import called, unlocked
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.kernels.runtime import cache as cache_
from rushlight._engine.numerics.ufunc import builtin

# What comes before a kernel's own arguments: cuLaunchKernel, the function, blocks, threads, the stream.
_HEAD = 5
_NAME = "rl_cuda_launch"
_PYTHONS = ("PyLong_AsUnsignedLongLongMask", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread")


def _text() -> str:
    module = Module()
    f = Function(module, f"define ptr @{_NAME}(ptr %self, ptr %given, i64 %n)")
    f.mark_early()
    count = f.i64("sub", "%n", _HEAD)
    values, places = (f.op(f"alloca i64, i64 {count}, align 8") for _ in range(2))

    def number(k: str | int) -> str:
        object_ = f.load("ptr", "%given", f.i64("mul", k, 8))
        return called(f, "PyLong_AsUnsignedLongLongMask", "i64", f"ptr {object_}")

    launch, function, blocks, threads, stream = map(number, range(_HEAD))
    with f.loop(count) as i:
        at = f.i64("mul", i, 8)
        f.store("i64", number(f.i64("add", i, _HEAD)), values, at)
        f.store("ptr", f.at(values, at), places, at)
    blocks, threads = (f.op(f"trunc i64 {x} to i32") for x in (blocks, threads))
    launch, function, stream = (f.op(f"inttoptr i64 {x} to ptr") for x in (launch, function, stream))
    with unlocked(f):
        code = f.op(
            f"call i32 {launch}(ptr {function}, i32 {blocks}, i32 1, i32 1, i32 {threads}, i32 1, i32 1, "
            f"i32 0, ptr {stream}, ptr {places}, ptr null)"
        )
    f.emit(f"ret ptr {called(f, 'PyLong_FromLong', 'ptr', 'i64 ' + f.op(f'zext i32 {code} to i64'))}")
    f.finish()
    return module.text()


@cache
def _builtin() -> Callable[..., int]:
    text = _text()
    name = cache_.key("cuda launcher", text, target.identity())
    code = cache_.find(name)
    if code is None:
        code = target.assemble(text, tidy=True)
        cache_.keep(name, code)
    externals = {
        n: ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0
        for n in (
            "PyLong_AsUnsignedLongLongMask",
            "PyLong_FromLong",
            "PyEval_SaveThread",
            "PyEval_RestoreThread",
        )
    }
    (address,) = target.load(code, (_NAME,), externals)
    return builtin("cuda_launch", address)


def launcher(function: Any) -> Callable[..., int] | None:
    """launch(function, blocks, threads, stream, *arguments), its arguments' 64 bits each; the answer is the
    driver's. None where `function`, the driver's cuLaunchKernel, is none of a library's, or LLVM is not
    installed.
    """
    pointer: Any = getattr(ctypes, "_CFuncPtr")  # the class of all foreign functions
    if not isinstance(function, pointer) or not target.available():
        return None
    try:
        return partial(_builtin(), ctypes.cast(function, ctypes.c_void_p).value or 0)
    except (RuntimeError, Unsupported):
        return None
