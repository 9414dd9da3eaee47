"""Constants of the vector functions, one Precision for float32 and one for float64.

Polynomials are minimax fits (relative error below 2^-27 and 2^-57), highest power first; those of
float32 were rounded one coefficient at a time, each time refitting the rest:
  exp    (exp(r) - 1 - r) / r^2          on |r| <= log(2) / 2
  sin    (sin(x) - x) / x^3, in x^2      on |x| <= pi / 4
  cos    (cos(x) - 1 + x^2 / 2) / x^4    on |x| <= pi / 4
  atan   (atan(x) - x) / x^3, in x^2     on |x| <= tan(pi / 8)
  asin   (asin(x) - x) / x^3, in x^2     on |x| <= 1/2
  erf    erf(x) / x - 1, in x^2          on |x| <= 0.6 (float32), 1/2 (float64)
  log    q of log(1 + f) = f - f^2 / 2 + f^3 q(f), for 0.699 <= 1 + f <= 1.399 (float32), and
         = f - f^2 / 2 + s (f^2 / 2 + s^2 q(s^2)), s = f / (2 + f), for |s| <= 0.18 (float64)
and -log2(erfc(x)) / x for 0.59 <= x <= 3.95, (2^r - 1) / r for |r| <= 1/2. They are in base/coefficients.tsv.
"""
from __future__ import annotations

from typing import NamedTuple

from rushlight.base.lifted import SERIES


class Precision(NamedTuple):
    """What the algorithms of vectormath.py need to know about a floating type.

    mantissa, bias, one: the format (`one` is the pattern of 1.0); magic: adding it rounds to the
    nearest integer, which is then in the low bits; log_offset: the pattern of the number from which
    a mantissa is halved; ln2, half_pi: high and low parts; exp_range: where exp is not 0 or inf;
    tanh_limit: beyond it tanh is 1; trig_limit: beyond it the C library reduces the argument;
    tiny: below it x + x^2 is x; big: above it x + 1 is x for the purposes of log.
    """

    kind: str
    integer: str
    mantissa: int
    bias: int
    one: int
    magic: float
    smallest: float
    log_offset: int
    ln2: tuple[float, float]
    half_pi: tuple[float, float, float]
    exp_range: tuple[float, float]
    tanh_limit: float
    trig_limit: float
    tiny: float
    big: float

    def series(self, name: str) -> tuple[float, ...]:
        """The coefficients of a function."""
        return SERIES[f"vector_{name}_{self.kind}"]


SINGLE = Precision(kind="float", integer="i32", mantissa=23, bias=127, one=0x3F800000, magic=1.5 * 2.0**23,
    smallest=2.0**-126, log_offset=0x3F330000, ln2=(0.693115234375, 3.1946184945309415e-05),
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151244994428829e-15), exp_range=(-104.0, 89.0),
    tanh_limit=9.5, trig_limit=1e5, tiny=2.0**-25, big=2.0**30)

DOUBLE = Precision(kind="double", integer="i64", mantissa=52, bias=1023, one=0x3FF0000000000000,
    magic=1.5 * 2.0**52, smallest=2.0**-1022, log_offset=0x3FE6A09E00000000,
    ln2=(0.6931471805598903, 5.497923018708371e-14),
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33), exp_range=(-746.0, 710.0),
    tanh_limit=20.0, trig_limit=1e6, tiny=2.0**-54, big=2.0**60)

PRECISIONS = {"float": SINGLE, "double": DOUBLE}

ERF_FAR, EXP2_SINGLE = SERIES["vector_erf_far"], SERIES["vector_exp2_float"]
ERF_BETWEEN, ERF_LIMIT = 0.6, 3.95
