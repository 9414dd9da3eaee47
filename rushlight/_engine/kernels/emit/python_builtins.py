"""What the machine code of builtins has in common: Python calls it with objects (`base/ufunc.builtin`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight._engine.kernels.emit.llvm_ir import Function
from rushlight._engine.kernels.runtime.abi import ARRAY_FIELDS


def data(f: Function, operands: str, place: str | int) -> str:
    """Where the array that is pointed to at a place among `operands` has its elements."""
    return f.load("ptr", f.load("ptr", operands, place), ARRAY_FIELDS[0])


def called(f: Function, name: str, result: str, *given: str) -> str:
    """A function of Python's C API; `given`: types and values."""
    f.module.declare(name, f"declare {result} @{name}({', '.join(g.split()[0] for g in given)})")
    call = f"call {result} @{name}({', '.join(given)})"
    if result != "void":
        return f.op(call)
    f.emit(call)
    return ""


@contextmanager
def unlocked(f: Function, condition: str = "true") -> Iterator[None]:
    """Let other threads of Python run meanwhile, if an i1 is set."""
    state = f.var("null", "ptr")
    with f.when(condition):
        state.set(called(f, "PyEval_SaveThread", "ptr"))
    yield
    with f.when(condition):
        called(f, "PyEval_RestoreThread", "void", f"ptr {state.get()}")


def answer(f: Function, condition: str) -> None:
    """Give True or False, and close the function."""
    whole = f.op(f"zext i1 {condition} to i64")
    f.emit(f"ret ptr {called(f, 'PyBool_FromLong', 'ptr', f'i64 {whole}')}")
    f.finish()
