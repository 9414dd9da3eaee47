"""Kernels whose IR is written by hand and which are called with arrays: what they have in common."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from rushlight.compiler import native
from rushlight.compiler.ir import Module
from rushlight.compiler.target import available
from rushlight.compiler.tier import Tiered

ADDRESS, INTEGER, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float


class Written(Tiered):
    """Answers whether it was done: until there is machine code, callers have NumPy's way.

    kind, text, write: as native.address takes them.  types: of the arguments, which `call` makes of the
    operands.  fits: whether the code is of use here.
    """

    def __init__(self, kind: str, text: str, write: Callable[[Module, str], None], types: Sequence[Any],
                 call: Callable[..., Any], fits: Callable[..., bool] = bool, cost: int = 1) -> None:
        super().__init__()
        self.kind, self.text, self.write, self.types = kind, text, write, types
        self.call, self.fits, self.cost = call, fits, cost

    @property
    def content(self) -> str:
        return f"{self.kind} {self.text}"

    def reference(self, *arrays: Any, out: Any = None) -> bool:
        """Nothing is done."""
        return False

    def build(self) -> Callable[..., bool] | None:
        """The machine code, which may refuse by a number that is not 0; None without LLVM."""
        if not available():
            return None
        code = ctypes.CFUNCTYPE(INTEGER, *self.types)(native.address(self.kind, self.text, self.write))

        def run(*operands: Any, out: Any = None) -> bool:
            return not code(*self.call(*operands))
        return run if self.fits(run) else None
