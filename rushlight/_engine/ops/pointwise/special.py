"""torch.special: gamma, zeta, error, Bessel and Airy functions and their relatives, one atom each."""

from __future__ import annotations

import math
from typing import Any

from rushlight._engine.ops.declared import atoms, formulas
from rushlight._engine.ops.expressions import Expr, const, m
from rushlight._engine.ops.table import pointwise

formulas("pointwise.special")

_SPECIAL: dict[str, Any] = {"where": ("special",), "inplace": False, "dtypes": "float"}
atoms("pointwise.special", **_SPECIAL)


def _derivative(n: int, x: Expr) -> Expr:
    """The n-th derivative of digamma."""
    if n < 2:
        return m.trigamma(x) if n else m.digamma(x)
    return m.polygamma(x, arg=n)


def _check_order(bound: dict[str, Any]) -> None:
    n, x = bound["n"], bound["input"]
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    if x.dtype.is_complex:
        kernel = ("digamma", "trigamma")[n] if n < 2 else "polygamma"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.legacy}'")


@pointwise(
    dtypes="float", aliases=("special.polygamma",), where=("torch",), check=_check_order, inplace=False
)
def polygamma(n: "int", input) -> Expr:
    """The n-th derivative of digamma."""
    return _derivative(n, input)


@pointwise(
    name="_polygamma",
    dtypes="float",
    where=("Tensor.polygamma", "Tensor.polygamma_"),
    check=_check_order,
    node="polygamma",
)
def _polygamma(input, n: "int") -> Expr:
    """The n-th derivative of digamma."""
    return _derivative(n, input)


def _check_dimension(bound: dict[str, Any]) -> None:
    if bound["p"] < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {bound['p']}")
    if bound["input"].dtype.name == "bool":
        raise RuntimeError("mvlgamma: The input tensor may not be a boolean tensor.")


@pointwise(dtypes="float", aliases=("special.multigammaln",), check=_check_dimension)
def mvlgamma(input, p: "int") -> Expr:
    """The logarithm of the multivariate gamma function of dimension p."""
    total: Any = const(p * (p - 1) * math.log(math.pi) / 4)
    for j in range(p):
        total = m.lgamma(input - j / 2) + total
    return total
