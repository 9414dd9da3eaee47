"""Machine code that lets the team call BLAS's product of matrices."""
from __future__ import annotations

from rushlight.compiler.atoms import LLVM
from rushlight.compiler.ir import Module

PREFIX = {"float32": "s", "float64": "d"}
ROW_MAJOR = 101


def write(module: Module) -> None:
    """Put rl_sgemm and rl_dgemm into the runtime: loops of the team around BLAS's gemm.

    args: a, b, c. dims: m, n, k. steps: gemm, whether a and b are transposed, lda, ldb, ldc.
    """
    for dtype, prefix in PREFIX.items():
        kind = LLVM[dtype]
        loads = [f"  %{n}_at = getelementptr i8, ptr %{base}, i64 {8 * i}\n"
                 f"  %{n} = load {of}, ptr %{n}_at"
                 for base, names, of in (("args", "abc", "ptr"), ("dims", "mnk", "i64"))
                 for i, n in enumerate(names)]
        loads += [f"  %{n}_at = getelementptr i8, ptr %steps, i64 {8 * i}\n"
                  f"  %{n} = load {of}, ptr %{n}_at"
                  for i, (n, of) in enumerate((("gemm", "ptr"), ("ta", "i32"), ("tb", "i32"),
                                               ("lda", "i64"), ("ldb", "i64"), ("ldc", "i64")))]
        module.functions.append(
            f"define i32 @rl_{prefix}gemm(ptr %x, ptr %args, ptr %dims, ptr %steps, ptr %d) {{\n"
            + "\n".join(loads) + f"\n  call void %gemm(i32 {ROW_MAJOR}, i32 %ta, i32 %tb, i64 %m, "
            f"i64 %n, i64 %k, {kind} 1.0, ptr %a, i64 %lda, ptr %b, i64 %ldb, {kind} 0.0, "
            "ptr %c, i64 %ldc)\n  ret i32 0\n}")
