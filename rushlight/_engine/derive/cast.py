"""The dtype rule of pointwise rows: from operands' dtypes to the dtype of the computation."""

from __future__ import annotations

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.promotion import combine, of_number, promote_types

# One operand as promotion sees it: its dtype (or a Python number) and its rank.
DIMS, ZERO, NUMBER = range(3)
Rank = tuple[int, dtype]


def rank_of_number(value: object) -> Rank:
    """A Python number's rank."""
    return NUMBER, of_number(value)


def common_dtype(ranks: list[Rank]) -> dtype:
    """The dtype that the operands promote to."""
    if len(ranks) == 1:
        return ranks[0][1]
    found: list[dtype | None] = [None, None, None]
    for rank, d in ranks:
        seen = found[rank]
        found[rank] = d if seen is None else promote_types(seen, d)
    return combine(*found)


def compute_dtype(rule: str, common: dtype) -> dtype:
    """The dtype in which a row of `rule` computes ("float": ints become the default dtype)."""
    if rule == "float" and common.category < dt.FLOATING:
        return dt.get_default_dtype()
    if rule == "to_float64":
        return dt.complex128 if common.category == dt.COMPLEX else dt.float64
    if rule == "int" and common is dt.bool_:
        return dt.int64
    return common


def result_dtype(rule: str, compute: dtype) -> dtype:
    """The dtype of the result, from the row's `result` fact."""
    if rule == "same":
        return compute
    if rule == "real":
        return compute.to_real()
    return dt.BY_NAME[rule]
