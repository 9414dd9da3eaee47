"""Whether an expression has the same bits by NumPy and by machine code, whatever its operands.

Operations that IEEE 754 rounds once, comparisons, choices and moves have one right result, and both give it.
Transcendental functions, sums and fused multiply-adds have not: there, one of the two must compute always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rushlight._engine.derive.types import infer, operand_type
from rushlight._engine.ops.expressions import Expr, toposort

# Atoms, and what stands beside them, of which it is true in every dtype: a test compares them.
EXACT = frozenset(
    "in const cast largest where abs sgn neg conj real imag add sub mul div reciprocal sqrt rsqrt floor "
    "ceil trunc round floor_divide trunc_divide remainder fmod copysign nextafter maximum minimum fmax "
    "fmin clamp_min clamp_max relu hardtanh eq ne lt le gt ge logical_and logical_or logical_xor "
    "logical_not isnan isinf isfinite signbit bitwise_and bitwise_or bitwise_xor bitwise_not shift_left "
    "shift_right".split()
)
# Atoms that no emitter knows; a test compares.
NUMPY_ALONE = frozenset(
    "angle chebyshev_t chebyshev_u chebyshev_v chebyshev_w gammainc gammaincc gcd hermite_h hermite_he "
    "laguerre_l lcm legendre_p polygamma shifted_chebyshev_t shifted_chebyshev_u shifted_chebyshev_v "
    "shifted_chebyshev_w".split()
)
# Conversions that C leaves open (of what is out of range), or that are rounded by way of float32 here alone.
_INEXACT = frozenset(
    [(source, to) for source in ("float32", "float64") for to in ("uint32", "uint64")]
    + [("float64", "float16")]
)


def same_bits(
    outputs: Sequence[Expr], inputs: Sequence[tuple[str, str]], out_dtypes: Sequence[str], work: str
) -> bool:
    """Whether NumPy and machine code agree on expressions over `inputs` (name, dtype name), stored as
    `out_dtypes`, literals being of the dtype `work`.
    """
    order = toposort(outputs)
    if not all(node.op in EXACT for node in order):
        return False
    types = infer(outputs, dict(inputs), work)
    conversions = [(types[o], d) for o, d in zip(outputs, out_dtypes, strict=True)]
    for node in order:
        conversions += _conversions(node, types)
    return _INEXACT.isdisjoint(conversions)


def _conversions(node: Expr, types: Mapping[Expr, str]) -> list[tuple[str, str]]:
    """(dtype, dtype) of the conversions of a node's operands."""
    if node.op == "cast":
        return [(types[node.src[0]], node.arg)]
    return [(types[s], operand_type(node, types, i)) for i, s in enumerate(node.src) if s.op != "const"]


def numpy_alone(outputs: Sequence[Expr], arrays: Sequence[tuple[Any, str]]) -> bool:
    """Whether it is clear without the emitters that there is no machine code. arrays: (any, dtype name)."""
    return any(d.startswith(("complex", "float8")) for _, d in arrays) or not NUMPY_ALONE.isdisjoint(
        [node.op for node in toposort(outputs)]
    )
