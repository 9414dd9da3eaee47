"""Whether this thread's processor computes with denormal numbers: two bits of its control register."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from rushlight._engine.kernels.emit import target

# Bits of x86's MXCSR: results that are denormal become zero (15), and so do operands (6).
_FLUSH = 1 << 15 | 1 << 6
_CODE = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define i32 @rl_control(i32 %clear, i32 %set) {
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %before = load i32, ptr %word
  %kept = and i32 %before, %clear
  %after = or i32 %kept, %set
  store i32 %after, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret i32 %before
}
"""


@cache
def _control() -> Callable[[int, int], int] | None:
    """The function that clears and sets bits of the register; None where this processor has none such."""
    try:
        if not target.host().triple.startswith("x86_64"):
            return None
        (address,) = target.load(target.assemble(_CODE), ("rl_control",), {})
    except (ImportError, target.UnsupportedProcessor):
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)(address)


def flush(on: bool) -> bool:
    """Let this thread take denormal numbers for zero, or no longer; False where that cannot be changed."""
    control = _control()
    if control is None:
        return False
    control(~_FLUSH, _FLUSH if on else 0)
    return True
