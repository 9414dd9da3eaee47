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
and -log2(erfc(x)) / x for 0.59 <= x <= 3.95, (2^r - 1) / r for |r| <= 1/2 (for float32, and
with an error of 2^r below 2^-40), log2((1 + s) / (1 - s)) / s, in s^2, for |s| <= 0.178 (below 2^-44),
lgamma(x) / ((x - 1) (x - 2)), in x - 1.5, for 0.5 <= x <= 2.5 (below 2^-32).
They are in numerics/coefficients.tsv.
"""

from __future__ import annotations

import os
from ast import literal_eval
from types import SimpleNamespace

from rushlight._engine.numerics.float64_formulas import SERIES


class Precision(SimpleNamespace):
    """What the algorithms of vector_math.py need to know about a floating type: a column of precisions.tsv.

    mantissa, bias, one: the format (`one` is the pattern of 1.0); magic: 1.5 times 2^mantissa: adding it
    rounds to the nearest integer, which is then in the low bits; smallest: the least normal number;
    log_offset: the pattern of the number from which a mantissa is halved; ln2, half_pi: high and low parts;
    exp_range: where exp is not 0 or inf; tanh_limit: beyond it tanh is 1; trig_limit: beyond it the C
    library reduces the argument; tiny: below it x + x^2 is x; big: above it x + 1 is x for log's purposes.
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
    half_pi: tuple[float, ...]
    exp_range: tuple[float, float]
    tanh_limit: float
    trig_limit: float
    tiny: float
    big: float

    def series(self, name: str) -> tuple[float, ...]:
        """The coefficients of a function."""
        return SERIES[f"vector_{name}_{self.kind}"]


with open(os.path.join(os.path.dirname(__file__), "precisions.tsv"), encoding="utf-8") as _file:
    _NAMES, *_COLUMNS = zip(*[line.rstrip("\n").split("\t") for line in _file], strict=True)
PRECISIONS = {
    made.kind: made
    for made in [
        Precision(**dict(zip(_NAMES, map(literal_eval, column), strict=True))) for column in _COLUMNS
    ]
}

ERF_FAR, EXP2_SINGLE = SERIES["vector_erf_far"], SERIES["vector_exp2_float"]
EXP2_LESS_ONE, LOG2_RATIO = SERIES["vector_exp2_less_one"], SERIES["vector_log2_ratio"]
LGAMMA_NEAR = SERIES["vector_lgamma_near"]
ERF_BETWEEN, ERF_LIMIT = 0.6, 3.95
