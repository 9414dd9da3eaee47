"""From a kernel's meaning to something callable: the one way to the emitters (codegen.py).

These are loaded when code is written, so not by a program whose kernels are all on the disk. What gives a
ufunc or an address gives None where there is no machine code: without llvmlite, or for an atom or dtype that
no emitter knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.exactness import numpy_alone
from rushlight._engine.kernels.emit.meaning import Meaning
from rushlight._engine.kernels.emit.target import Unsupported, available
from rushlight._engine.kernels.runtime import native
from rushlight._engine.numerics.ufunc import from_loop

if TYPE_CHECKING:  # the writers of code load when there is something to compile
    from rushlight._engine.kernels.emit.llvm_ir import Module


def _written(writer: str, meaning: Meaning, *more: Any) -> Any:
    """A function of (module, name) that writes by a function of codegen."""

    def write(module: Module, name: str) -> None:
        # the writers of code load when there is something to compile
        from rushlight._engine.kernels.emit import codegen

        getattr(codegen, writer)(module, name, meaning, *more)

    return write


def address(source: tuple[str, str], writer: str, meaning: Meaning, *more: Any) -> int | None:
    """Where the code is that codegen's `writer` makes of a meaning and more, by its kind and text."""
    if not available() or numpy_alone(meaning.outputs, (*meaning.inputs, *enumerate(meaning.out_dtypes))):
        return None
    try:
        return native.address(*source, _written(writer, meaning, *more))
    except Unsupported:
        return None


def ufunc(
    source: tuple[str, str], writer: str, meaning: Meaning, *more: Any, signature: str | None = None
) -> np.ufunc | None:
    """The code as a ufunc, generalised with a signature."""
    found = address(source, writer, meaning, *more)
    if not found:
        return None
    return from_loop(
        f"{writer}_kernel",
        found,
        [dt.BY_NAME[d].np for _, d in meaning.inputs],
        [dt.BY_NAME[d].np for d in meaning.out_dtypes],
        signature,
    )


def ir(writer: str, meaning: Meaning, *more: Any) -> str:
    """The LLVM IR, for reading."""
    return native.ir(_written(writer, meaning, *more))
