"""Kernels whose IR is written by hand and which are called with arrays: what they have in common."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rushlight._engine.kernels.emit.target import available
from rushlight._engine.kernels.runtime import native
from rushlight._engine.kernels.runtime.abi import SLOT
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.numerics.ufunc import builtin

if TYPE_CHECKING:  # the writers of code load when there is something to compile
    from rushlight._engine.kernels.emit.llvm_ir import Module

ADDRESS, INTEGER, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float


class HandwrittenKernel(Tiered):
    """Answers whether it was done: until there is machine code, callers have NumPy's way.

    Its bits are those of NumPy's way.  kind, text, write: as native.address takes them.  types: of the
    arguments, which `call` makes of the operands.  fits: whether the code is of use here.
    """

    exact = True

    def __init__(
        self,
        kind: str,
        text: str,
        write: Callable[[Module, str], None],
        types: Sequence[Any],
        call: Callable[..., Any],
        fits: Callable[..., bool] = bool,
        cost: int = 1,
    ) -> None:
        super().__init__()
        self._source, self.write, self.types = (kind, text), write, types
        self.call, self.fits, self.cost = call, fits, cost

    @property
    def source(self) -> tuple[str, str]:
        return self._source

    def reference(self, *arrays: Any, out: Any = None) -> bool:
        """Nothing is done."""
        return False

    def build(self) -> Callable[..., bool] | None:
        """The machine code, which may refuse by a number that is not 0; None without LLVM."""
        if not available():
            return None
        code = ctypes.CFUNCTYPE(INTEGER, *self.types)(native.address(*self.source, self.write))

        def run(*operands: Any, out: Any = None) -> bool:
            return not code(*self.call(*operands))

        return run if self.fits(run) else None


class Prepared(HandwrittenKernel):
    """A kernel of three arrays, the elements of which it finds by itself, and a vector of `count` numbers: a
    builtin, called with four arrays. write: of pointers and numbers.
    """

    def __init__(self, kind: str, text: str, write: Callable[[Module, str], None], count: int) -> None:
        super().__init__(kind, text, self.by_objects, (), bool, cost=64)
        self.plain, self.count = write, count

    def build(self) -> Callable[..., bool] | None:
        """The builtin; None without LLVM."""
        return builtin(self.source[0], native.address(*self.source, self.write)) if available() else None

    def by_objects(self, module: Module, name: str) -> None:
        """The IR of the builtin."""
        # Here, since what is on the disk is not written.
        from rushlight._engine.kernels.emit.llvm_ir import Function
        from rushlight._engine.kernels.emit.python_builtins import answer, data, unlocked

        self.plain(module, f"{name}_plain")
        f = Function(module, f"define ptr @{name}(ptr %self, ptr %args, i64 %n)")
        a, b, c, numbers = (data(f, "%args", SLOT * k) for k in range(4))
        given = ", ".join(
            [f"ptr {p}" for p in (a, b, c)]
            + [f"i64 {f.load('i64', numbers, SLOT * k)}" for k in range(self.count)]
        )
        with unlocked(f):
            refused = f.op(f"call i64 @{name}_plain({given})")
        answer(f, f.i64("icmp eq", refused, 0))
