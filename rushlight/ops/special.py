"""torch.special: gamma, zeta, error, Bessel and Airy functions and their relatives, one atom each."""
from __future__ import annotations

import math
from typing import Any

from rushlight.ops.oneatom import NUMBER, binary
from rushlight.ops.scalar import Expr, const, m, stored
from rushlight.ops.table import pointwise

_SPECIAL: dict[str, Any] = {"where": ("special",), "inplace": False, "dtypes": "float"}


def _function(name: str, doc: str, atom: str = "") -> None:
    def body(input) -> Expr:
        return getattr(m, atom or name)(input)
    pointwise(body, name=name, doc=doc, node=f"special_{name}", **_SPECIAL)


# --- error and normal -----------------------------------------------------------------------------

_function("erfcx", "exp(input ** 2) erfc(input).")
_function("ndtri", "The quantile of the normal distribution.")
_function("log_ndtr", "The logarithm of the normal distribution function.")
_function("entr", "-input log(input); 0 at 0, -inf below.")


@pointwise(**_SPECIAL)
def ndtr(input) -> Expr:
    """The normal distribution function."""
    return m.erfc(input * -math.sqrt(0.5)) * 0.5


@pointwise(node="special_xlog1py", **_SPECIAL)
def xlog1py(input: "Tensor | Number", other: "Tensor | Number") -> Expr:
    """input * log1p(other), 0 where input is 0 (unless other is nan)."""
    plain = input * stored(m.log1p(other))
    return m.where(m.isnan(other), other, m.where(m.eq(input, 0), 0 * input, plain))


# --- gamma and zeta -------------------------------------------------------------------------------

zeta = binary("zeta", "Hurwitz' zeta: the sum of (k + other) ** -input over k = 0, 1, ...", first=NUMBER,
              second=NUMBER, node="special_zeta", **_SPECIAL)
igamma = binary("igamma", "The lower regularised incomplete gamma function P(input, other).",
                "special.gammainc", atom="gammainc")
igammac = binary("igammac", "The upper regularised incomplete gamma function Q(input, other).",
                 "special.gammaincc", atom="gammaincc")


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


@pointwise(dtypes="float", aliases=("special.polygamma",), where=("torch",), check=_check_order,
           inplace=False)
def polygamma(n: "int", input) -> Expr:
    """The n-th derivative of digamma."""
    return _derivative(n, input)


@pointwise(name="_polygamma", dtypes="float", where=("Tensor.polygamma", "Tensor.polygamma_"),
           check=_check_order, node="polygamma")
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


# --- Bessel and Airy ------------------------------------------------------------------------------

_function("i0e", "exp(-|input|) times the modified Bessel function of order 0.")
_function("i1e", "exp(-|input|) times the modified Bessel function of order 1.")
_function("airy_ai", "Airy's function Ai.")
for _kind, _doc in (("j", "first"), ("y", "second")):
    for _n in (0, 1):
        _function(f"bessel_{_kind}{_n}", f"The Bessel function of the {_doc} kind, order {_n}.")
for _n in (0, 1):
    _function(f"modified_bessel_i{_n}", f"The modified Bessel function of the first kind, order {_n}.",
              f"bessel_i{_n}")
    _function(f"modified_bessel_k{_n}", f"The modified Bessel function of the second kind, order {_n}.",
              atom=f"bessel_k{_n}")
    _function(f"scaled_modified_bessel_k{_n}", f"exp(input) times modified_bessel_k{_n}.",
              atom=f"bessel_k{_n}e")
_function("spherical_bessel_j0", "sin(input) / input; 1 at 0.")


# --- orthogonal polynomials -----------------------------------------------------------------------


def _polynomial(name: str, atom: str, doc: str) -> None:
    def body(input: "Tensor | Number", n: "Tensor | Number") -> Expr:
        return getattr(m, atom)(input, n)
    pointwise(body, name=name, doc=f"{doc} of degree n.", **_SPECIAL)


for _kind in "tuvw":
    _polynomial(f"chebyshev_polynomial_{_kind}", f"chebyshev_{_kind}",
                f"Chebyshev's polynomial {_kind.upper()}")
    _polynomial(f"shifted_chebyshev_polynomial_{_kind}", f"shifted_chebyshev_{_kind}",
                f"Chebyshev's polynomial {_kind.upper()}*, shifted to [0, 1],")
_polynomial("hermite_polynomial_h", "hermite_h", "The physicist's Hermite polynomial")
_polynomial("hermite_polynomial_he", "hermite_he", "The probabilist's Hermite polynomial")
_polynomial("laguerre_polynomial_l", "laguerre_l", "Laguerre's polynomial")
_polynomial("legendre_polynomial_p", "legendre_p", "Legendre's polynomial")
