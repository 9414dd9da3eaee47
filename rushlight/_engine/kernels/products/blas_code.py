"""Machine code that lets the team call BLAS's product of matrices."""

from __future__ import annotations

from rushlight._engine.kernels.emit.atom_code import LLVM
from rushlight._engine.kernels.emit.llvm_ir import Function, Module
from rushlight._engine.kernels.runtime.abi import BLAS, SLOT
from rushlight._engine.kernels.runtime.shared_loops import close

ROW_MAJOR = 101


def write(module: Module) -> None:
    """Put rl_sgemm and rl_dgemm into the runtime: loops of the team around BLAS's gemm.

    args: a, b, c. dims: m, n, k. steps: gemm, whether a and b are transposed, lda, ldb, ldc.
    """
    for dtype, prefix in BLAS.items():
        kind = LLVM[dtype]
        f = Function(module, f"define i32 @rl_{prefix}gemm(ptr %x, ptr %args, ptr %dims, ptr %steps, ptr %d)")
        a, b, c = (f.load("ptr", "%args", SLOT * i) for i in range(3))
        m, n, k = (f.load("i64", "%dims", SLOT * i) for i in range(3))
        gemm, by_a, by_b, lda, ldb, ldc = (
            f.load(of, "%steps", SLOT * i) for i, of in enumerate("ptr i32 i32 i64 i64 i64".split())
        )
        f.emit(
            f"call void {gemm}(i32 {ROW_MAJOR}, i32 {by_a}, i32 {by_b}, i64 {m}, i64 {n}, i64 {k}, "
            f"{kind} 1.0, ptr {a}, i64 {lda}, ptr {b}, i64 {ldb}, {kind} 0.0, ptr {c}, i64 {ldc})"
        )
        close(f)
