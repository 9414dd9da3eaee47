"""Elementary functions of vectors, without branches: the bodies of the transcendental atoms.

Each takes and gives Lanes of float or double; one text serves both, the constants being those of
polynomials.py. They are right at infinities, nans, subnormals and signed zeros; their errors, in
units in the last place, are stated in tests/engine/kernels/test_atoms.py, which holds them.
"""

from __future__ import annotations

import math

from rushlight._engine.kernels.emit.lanes import Lane, Number, polynomial
from rushlight._engine.kernels.emit.polynomials import (
    ERF_BETWEEN,
    ERF_FAR,
    ERF_LIMIT,
    EXP2_LESS_ONE,
    EXP2_SINGLE,
    LOG2_RATIO,
    PRECISIONS,
)
from rushlight._engine.numerics.error_gamma import (
    ERFCX_FAR,
    ERFCX_MID,
    INV_SQRT_PI,
    QUANTILE_CENTRE,
    QUANTILE_FAR,
    QUANTILE_MID,
)

INF, NAN = math.inf, math.nan


def _clamp(x: Lane, low: Number, high: Number) -> Lane:
    # Comparisons with nan are false, so that nan stays.
    x = (x < low).where(low, x)
    return (x > high).where(high, x)


# --- exponentials ---------------------------------------------------------------------------------


def _power_of_two(rounded: Lane) -> Lane:
    """2^n, where `rounded` is n + magic and 2^n is a normal number."""
    p = PRECISIONS[rounded.kind]
    bits = rounded.cast("bitcast", p.integer).bits("shl", p.mantissa) + p.one
    return bits.cast("bitcast", p.kind)


def _reduced(x: Lane) -> tuple[Lane, Lane]:
    """exp(x) = 2^n exp(r): exp(r) - 1 and n + magic."""
    p = PRECISIONS[x.kind]
    rounded = x.fma(math.log2(math.e), p.magic)
    n = rounded - p.magic
    r = n.fma(-p.ln2[1], n.fma(-p.ln2[0], x))
    return (r * r).fma(polynomial(r, p.series("exp")), r), rounded


def _scaled(y: Lane, rounded: Lane) -> Lane:
    """y 2^n in two steps, each of which is a normal number, so that the result may be any."""
    magic = PRECISIONS[y.kind].magic
    n = rounded - magic
    half = n.fma(0.5, magic)
    other = (n - (half - magic)) + magic
    return y * _power_of_two(half) * _power_of_two(other)


def exp(x: Lane) -> Lane:
    """e^x."""
    less_one, rounded = _reduced(_clamp(x, *PRECISIONS[x.kind].exp_range))
    return _scaled(less_one + 1, rounded)


def exp2(x: Lane) -> Lane:
    """2^x."""
    p = PRECISIONS[x.kind]
    low, high = p.exp_range
    x = _clamp(x, low * 1.45, high * 1.45)
    rounded = x + p.magic
    r = (x - (rounded - p.magic)) * math.log(2)
    return _scaled((r * r).fma(polynomial(r, p.series("exp")), r) + 1, rounded)


def expm1(x: Lane) -> Lane:
    """e^x - 1, accurate near 0."""
    p = PRECISIONS[x.kind]
    less_one, rounded = _reduced(_clamp(x, -p.tanh_limit * 2, p.exp_range[1]))
    half = _power_of_two(rounded - 1)
    y = half.fma(less_one, half - 0.5) * 2
    return (x.abs() < p.tiny).where(x, y)


def _expm1_positive(x: Lane) -> Lane:
    """expm1 for moderate x >= 0."""
    less_one, rounded = _reduced(x)
    scale = _power_of_two(rounded)
    return scale.fma(less_one, scale - 1)


def tanh(x: Lane) -> Lane:
    """The hyperbolic tangent."""
    e = _expm1_positive(_clamp(x.abs(), 0, PRECISIONS[x.kind].tanh_limit) * 2)
    return (e / (e + 2)).copysign(x)


def sigmoid(x: Lane) -> Lane:
    """1 / (1 + e^-x)."""
    e = exp(-x.abs())
    return (x >= 0).where(1.0, e) / (e + 1)


def _half_exp(x: Lane) -> tuple[Lane, Lane]:
    """e^x / 2, finite wherever sinh and cosh are, and (e^x - 1) / 2; for x >= 0."""
    less_one, rounded = _reduced(_clamp(x, 0, PRECISIONS[x.kind].exp_range[1] + 0.5))
    # 2^(n - 1) may overflow where the result does not.
    quarter = _power_of_two(rounded - 2)
    return quarter * (less_one + 1) * 2, quarter.fma(less_one, quarter - 0.25) * 2


def sinh(x: Lane) -> Lane:
    """The hyperbolic sine."""
    whole, h = _half_exp(x.abs())
    y = (h > 2.0**30).where(whole, h + h / (h * 2 + 1))
    return (x.abs() < PRECISIONS[x.kind].tiny).where(x, y.copysign(x))


def cosh(x: Lane) -> Lane:
    """The hyperbolic cosine."""
    half = _half_exp(x.abs())[0]
    return half + 0.25 / half


# --- logarithms -----------------------------------------------------------------------------------


def _log_tail(f: Lane) -> Lane:
    """log(1 + f) - f for the mantissas that _split gives."""
    square = f * f
    if f.kind == "float":
        return square.fma(-0.5, square * f * polynomial(f, PRECISIONS[f.kind].series("log")))
    s = f / (f + 2)
    z = s * s
    half = square * 0.5
    return s.fma(half + z * polynomial(z, PRECISIONS[f.kind].series("log")), -half)


def _split(x: Lane) -> tuple[Lane, Lane, Lane]:
    """x = 2^e (1 + f), x > 0 and normal: e as a float, f, and e + bias as an integer."""
    p = PRECISIONS[x.kind]
    bits = x.cast("bitcast", p.integer)
    biased = (bits + (p.one - p.log_offset)).bits("lshr", p.mantissa)
    low = 1 << p.mantissa
    fraction = ((bits - p.log_offset) & (low - 1)) + p.log_offset
    # The pattern of 2^mantissa + e + bias is that of 2^mantissa with e + bias in its low bits.
    pattern = (p.bias + p.mantissa) << p.mantissa
    e = (biased | pattern).cast("bitcast", p.kind) - float(low + p.bias)
    return e, fraction.cast("bitcast", p.kind) - 1, biased


def _split_any(x: Lane) -> tuple[Lane, Lane]:
    """_split for positive subnormal x as well."""
    p = PRECISIONS[x.kind]
    small = x < p.smallest
    e, f, _ = _split(small.where(x * 2.0**p.mantissa, x))
    return small.where(e - float(p.mantissa), e), f


def _log_specials(x: Lane, y: Lane) -> Lane:
    y = (x < INF).where(y, x)
    return (x > 0).where(y, x.equal(0).where(x.other(-INF), NAN))


def log(x: Lane) -> Lane:
    """The natural logarithm."""
    p = PRECISIONS[x.kind]
    e, f = _split_any(x)
    y = e.fma(p.ln2[0], f + e.fma(p.ln2[1], _log_tail(f)))
    return _log_specials(x, y)


def log1p(x: Lane) -> Lane:
    """log(1 + x), accurate near 0."""
    p = PRECISIONS[x.kind]
    u = x + 1
    back = u - 1
    lost = (1 - (u - back)) + (x - back)
    e, f, biased = _split(u)
    # What 1 + x lost by rounding goes back into the mantissa, scaled by 2^-e (which is no normal
    # number for the largest x, where it does not matter).
    scale = (2 * p.bias - biased).bits("shl", p.mantissa).cast("bitcast", p.kind)
    f = f + (x > p.big).where(0, lost * scale)
    y = e.fma(p.ln2[0], f + e.fma(p.ln2[1], _log_tail(f)))
    return (x.abs() < p.tiny).where(x, _log_specials(u, y))


def log2(x: Lane) -> Lane:
    """The logarithm to base 2; exact for powers of two."""
    e, f = _split_any(x)
    return _log_specials(x, (f + _log_tail(f)).fma(math.log2(math.e), e))


def asinh(x: Lane) -> Lane:
    """The inverse of sinh."""
    size, p = x.abs(), PRECISIONS[x.kind]
    big = size > p.big
    square = size * size
    argument = big.where(size, size + square / ((square + 1).sqrt() + 1))
    return (log1p(argument) + big.where(x.other(math.log(2)), 0)).copysign(x)


def acosh(x: Lane) -> Lane:
    """The inverse of cosh; nan below 1."""
    big = x > PRECISIONS[x.kind].big
    t = x - 1
    argument = big.where(x, t + (t * 2 + t * t).sqrt())
    return (x < 1).where(NAN, log1p(argument) + big.where(x.other(math.log(2)), 0))


def atanh(x: Lane) -> Lane:
    """The inverse of tanh."""
    size = x.abs()
    return (log1p(size * 2 / (1 - size)) * 0.5).copysign(x)


# --- circular functions ---------------------------------------------------------------------------


def _turned(sine: Lane, cosine: Lane, rounded: Lane, turn: int) -> Lane:
    """sin(r + (k + turn) pi / 2) of what r has, for doubles; k is in the low bits of `rounded`."""
    k = rounded.cast("bitcast", "i64") + turn
    y = (k & 1).equal(0).where(sine, cosine)
    return (y.cast("bitcast", "i64") ^ (k & 2).bits("shl", 62)).cast("bitcast", "double")


def _circular_single(x: Lane, turn: int) -> Lane:
    """Of float32 by way of doubles, within 0.57 units in the last place: sin(pi / 4) is cos(pi / 4)."""
    p, series = PRECISIONS["double"], PRECISIONS["float"].series
    wide = x.cast("fpext", "double")
    rounded = wide.fma(2 / math.pi, p.magic)
    k = rounded - p.magic
    r = k.fma(-p.half_pi[1], k.fma(-p.half_pi[0], wide))
    z = r * r
    sine = (z * r).fma(polynomial(z, series("sin")), r)
    cosine = (z * z).fma(polynomial(z, series("cos")), z.fma(-0.5, 1.0))
    return _turned(sine, cosine, rounded, turn).cast("fptrunc", "float")


def _circular_double(x: Lane, turn: int) -> Lane:
    """Within 0.8 units in the last place: what r, its square and 1 - z / 2 lose goes to the small terms."""
    p = PRECISIONS["double"]
    rounded = x.fma(2 / math.pi, p.magic)
    k = rounded - p.magic
    near, step = k.fma(-p.half_pi[0], x), k * p.half_pi[1]  # the first without error
    r = near - step
    rest = k.fma(-p.half_pi[2], near - r - step - k.fma(p.half_pi[1], -step))
    z = r * r
    most = z.fma(-0.5, 1.0)
    sine = r + (z * r).fma(polynomial(z, p.series("sin")), rest * most)
    lost = r.fma(r, -z).fma(-0.5, z.fma(-0.5, 1.0 - most))
    cosine = most + (z * z).fma(polynomial(z, p.series("cos")), rest.fma(-r, lost))
    return _turned(sine, cosine, rounded, turn)


def _circular(x: Lane, turn: int) -> Lane:
    """sin(x + turn pi / 2), for |x| below trig_limit."""
    return (_circular_single if x.kind == "float" else _circular_double)(x, turn)


def sin_moderate(x: Lane) -> Lane:
    """The sine, for |x| below trig_limit."""
    return (x.abs() < PRECISIONS[x.kind].tiny).where(x, _circular(x, 0))


def cos_moderate(x: Lane) -> Lane:
    """The cosine, for |x| below trig_limit."""
    return _circular(x, 1)


def atan(x: Lane) -> Lane:
    """The inverse tangent."""
    size = x.abs()
    upper, middle = size > math.tan(3 * math.pi / 8), size > math.tan(math.pi / 8)
    numerator = upper.where(-1.0, middle.where(size - 1, size))
    denominator = upper.where(size, middle.where(size + 1, 1.0))
    start = upper.where(x.other(math.pi / 2), middle.where(x.other(math.pi / 4), 0.0))
    r = numerator / denominator
    z = r * r
    y = start + (z * r).fma(polynomial(z, PRECISIONS[x.kind].series("atan")), r)
    return y.copysign(x)


def atan2(y: Lane, x: Lane) -> Lane:
    """The angle of (x, y), of doubles, by atan of at most 1; signs of zeros count as of other numbers."""
    size, along = y.abs(), x.abs()
    steep = size > along
    low, high = steep.where(along, size), steep.where(size, along)
    # Nothing by nothing is 0, and infinite by infinite 1.
    r = high.equal(0).where(0.0, low.equal(INF).where(1.0, low / high))
    angle = atan(r)
    angle = steep.where(math.pi / 2 - angle, angle)
    backward = x.cast("bitcast", "i64") < 0
    angle = backward.where(math.pi - angle, angle).copysign(y)
    return (x.is_nan()).where(x, (y.is_nan()).where(y, angle))


def _asin_core(x: Lane) -> tuple[Lane, Lane]:
    """asin(|x|) for |x| <= 1/2, else (pi/2 - asin(|x|)) / 2; and the mask of the latter."""
    size = x.abs()
    big = size > 0.5
    z = big.where((1 - size) * 0.5, size * size)
    s = big.where(z.sqrt(), size)
    return (s * z).fma(polynomial(z, PRECISIONS[x.kind].series("asin")), s), big


def asin(x: Lane) -> Lane:
    """The inverse sine; nan outside [-1, 1]."""
    y, big = _asin_core(x)
    return big.where(y.fma(-2.0, math.pi / 2), y).copysign(x)


def acos(x: Lane) -> Lane:
    """The inverse cosine; nan outside [-1, 1]."""
    y, big = _asin_core(x)
    outer = (x > 0).where(y * 2, y.fma(-2.0, math.pi))
    return big.where(outer, math.pi / 2 - y.copysign(x))


# --- error functions ------------------------------------------------------------------------------


def erf(x: Lane) -> Lane:
    """The error function."""
    near = x.fma(polynomial(x * x, PRECISIONS[x.kind].series("erf")), x)
    if x.kind == "double":
        return (x.abs() < 0.5).where(near, (1 - _erfc_outer(x.abs())).copysign(x))
    magnitude = x.abs()
    size = (magnitude > ERF_LIMIT).where(ERF_LIMIT, magnitude)
    # Beyond, 1 - 2^y: y is short enough for one step of scaling.
    y = size * polynomial(size, ERF_FAR)
    rounded = PRECISIONS[x.kind].magic - y
    r = (rounded - PRECISIONS[x.kind].magic) + y
    far = 1 - polynomial(-r, EXP2_SINGLE) * _power_of_two(rounded)
    sign = x.cast("bitcast", "i32") & -(1 << 31)
    far = (far.cast("bitcast", "i32") | sign).cast("bitcast", "float")
    return (magnitude < ERF_BETWEEN).where(near, far)


def _erfc_outer(size: Lane) -> Lane:
    """erfc of doubles >= 1/2."""
    size = _clamp(size, 0.5, 30.0)
    square = size * size
    lost = size.fma(size, -square)
    mid = polynomial(size, ERFCX_MID[0]) / polynomial(size, ERFCX_MID[1])
    t = 1 / square
    far = (INV_SQRT_PI - t * polynomial(t, ERFCX_FAR[0]) / polynomial(t, ERFCX_FAR[1])) / size
    e = exp(-square)
    return (size > 4).where(far, mid) * e.fma(-lost, e)


def erfc(x: Lane) -> Lane:
    """1 - erf(x), accurate where erf is close to 1; of doubles."""
    near = 1 - x.fma(polynomial(x * x, PRECISIONS[x.kind].series("erf")), x)
    outer = _erfc_outer(x.abs())
    outer = (x < 0).where(2 - outer, outer)
    return (x.abs() < 0.5).where(near, outer)


def erfinv_short(x: Lane) -> Lane:
    """The inverse of erf in doubles, to what a float needs."""
    offset, size = x * 0.5, x.abs()
    tail = (1 - size) * 0.5
    inner = 0.180625 - offset * offset
    centre = offset * polynomial(inner, QUANTILE_CENTRE[0]) / polynomial(inner, QUANTILE_CENTRE[1])
    r = (-log(tail)).sqrt()
    a, b = r - 1.6, r - 5
    mid = polynomial(a, QUANTILE_MID[0]) / polynomial(a, QUANTILE_MID[1])
    far = polynomial(b, QUANTILE_FAR[0]) / polynomial(b, QUANTILE_FAR[1])
    outer = tail.equal(0).where(INF, (r > 5).where(far, mid)).copysign(x)
    y = (offset.abs() <= 0.425).where(centre, outer) * math.sqrt(0.5)
    return (size > 1).where(NAN, y)


def erfinv(x: Lane) -> Lane:
    """The inverse of erf; of doubles."""
    y, size = erfinv_short(x).abs(), x.abs()
    # A step of Newton's method, by the difference that is known best.
    wrong = (size < 0.5).where(erf(y) - size, (1 - size) - erfc(y))
    better = (size < 1).where(y - wrong * exp(y * y) * (0.5 * math.sqrt(math.pi)), y)
    return (size > 1).where(NAN, better.copysign(x))


# --- powers ---------------------------------------------------------------------------------------


def pow_regular(x: Lane, y: Lane) -> Lane:
    """|x|^y of floats, |x| not 0 nor infinite and y finite: in doubles, to what a float needs."""
    e, f = [part.cast("fpext", "double") for part in _split_any(x.abs())]
    s = f / (f + 2)
    exponent = s.fma(polynomial(s * s, LOG2_RATIO), e) * y.cast("fpext", "double")
    exponent = _clamp(exponent, -200, 200)
    rounded = exponent + PRECISIONS["double"].magic
    r = exponent - (rounded - PRECISIONS["double"].magic)
    scale = rounded.cast("bitcast", "i64").bits("shl", PRECISIONS["double"].mantissa)
    z = r.fma(polynomial(r, EXP2_LESS_ONE), 1).cast("bitcast", "i64") + scale
    return z.cast("bitcast", "double").cast("fptrunc", "float")


def pow_special(x: Lane, y: Lane, z: Lane) -> Lane:
    """x^y of any floats as C's pow says, where z is pow_regular's."""
    size = x.abs()
    z = (size.equal(0) | size.equal(INF)).where((y < 0).where(1 / size, size), z)
    whole = y.function.intrinsic("llvm.trunc", y)
    half = whole * 0.5
    odd = half.function.intrinsic("llvm.trunc", half).compare("ne", half) & y.equal(whole)
    negative = x.cast("bitcast", "i32") < 0
    z = (odd & negative).where(-z, z)
    z = (y.compare("ne", whole) & (x < 0) & (x > -INF)).where(NAN, z)
    z = (size.equal(1) & y.abs().equal(INF)).where(1.0, z)
    z = (x.is_nan()).where(x, (y.is_nan()).where(y, z))
    return (y.equal(0) | x.equal(1)).where(1.0, z)


# --- of two numbers -------------------------------------------------------------------------------


def nextafter(x: Lane, y: Lane) -> Lane:
    """The number that follows x towards y."""
    whole = "i32" if x.kind == "float" else "i64"
    bits = x.cast("bitcast", whole)
    up = (x < y).compare("eq", x > 0.0)
    moved = up.where(bits + 1, bits - 1).cast("bitcast", x.kind)
    least = x.function.const(whole, 1).cast("bitcast", x.kind).copysign(y)
    found = x.equal(y).where(y, x.equal(0.0).where(least, moved))
    return (x.is_nan() | y.is_nan()).where(found.other(NAN), found)


def hypot_of_floats(x: Lane, y: Lane) -> Lane:
    """The root of x^2 + y^2 of floats, given as doubles, whose squares are exact."""
    endless = x.abs().equal(INF) | y.abs().equal(INF)
    return endless.where(x.other(INF), (x * x + y * y).sqrt())
