"""Constants of the vector functions, one Precision for float32 and one for float64.

Polynomials are minimax fits (relative error below 2^-27 and 2^-57), highest power first; those of
float32 were rounded one coefficient at a time, each time refitting the rest:
  exp    (exp(r) - 1 - r) / r^2          on |r| <= log(2) / 2
  sin    (sin(x) - x) / x^3, in x^2      on |x| <= pi / 4
  cos    (cos(x) - 1 + x^2 / 2) / x^4    on |x| <= pi / 4
  atan   (atan(x) - x) / x^3, in x^2     on |x| <= tan(pi / 8)
  asin   (asin(x) - x) / x^3, in x^2     on |x| <= 1/2
  erf    erf(x) / x - 1, in x^2          on |x| <= 0.6 (float32), 1/2 (float64)
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
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
    exp: tuple[float, ...]
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    atan: tuple[float, ...]
    asin: tuple[float, ...]
    erf: tuple[float, ...]


SINGLE = Precision(
    kind="float", integer="i32", mantissa=23, bias=127, one=0x3F800000, magic=1.5 * 2.0**23,
    smallest=2.0**-126, log_offset=0x3F330000,
    ln2=(0.693115234375, 3.1946184945309415e-05),
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151244994428829e-15),
    exp_range=(-104.0, 89.0), tanh_limit=9.5, trig_limit=1e5, tiny=2.0**-25, big=2.0**30,
    exp=(0.0013848175294697285, 0.00837002508342266, 0.041668009012937546, 0.16666509211063385,
         0.4999999403953552),
    sin=(-0.00019506848184391856, 0.008332101628184319, -0.16666653752326965),
    cos=(2.4430681150988676e-05, -0.00138873013202101, 0.04166664555668831),
    atan=(0.08060270547866821, -0.13879896700382233, 0.19977937638759613, -0.33332955837249756),
    asin=(0.04222019016742706, 0.02414795383810997, 0.045476678758859634, 0.07495249062776566,
          0.16666753590106964),
    erf=(0.004435572773218155, -0.026595452800393105, 0.11279929429292679, -0.37612444162368774,
         0.12837915122509003))

DOUBLE = Precision(
    kind="double", integer="i64", mantissa=52, bias=1023, one=0x3FF0000000000000,
    magic=1.5 * 2.0**52, smallest=2.0**-1022, log_offset=0x3FE6A09E00000000,
    ln2=(0.6931471805598903, 5.497923018708371e-14),
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    exp_range=(-746.0, 710.0), tanh_limit=20.0, trig_limit=1e6, tiny=2.0**-54, big=2.0**60,
    exp=(2.4998647692521526e-08, 2.763167150401632e-07, 2.75575982385778e-06,
         2.480148939789744e-05, 0.00019841269485061603, 0.0013888888946874912,
         0.008333333333508105, 0.041666666666519324, 0.16666666666666385, 0.5000000000000012),
    sin=(1.5893585711752887e-10, -2.5050704045648232e-08, 2.755731335584966e-06,
         -0.0001984126982886895, 0.008333333333321284, -0.16666666666666627),
    cos=(-1.1357445713066748e-11, 2.087568182129266e-09, -2.755731405615334e-07,
         2.4801587288490725e-05, -0.0013888888888872596, 0.04166666666666659),
    atan=(-0.017916479329731554, 0.038073160952719697, -0.0503964823494964, 0.05847966546085494,
          -0.06663114775055252, 0.0769206116469225, -0.0909089781121933, 0.1111111078531292,
          -0.1428571428023321, 0.19999999999953944, -0.333333333333332),
    asin=(0.03270162692805605, -0.021116009881734194, 0.02179024842220214, 0.0036723081901639957,
          0.010789298549400264, 0.011397295560744248, 0.013981018360228477, 0.017351595510929022,
          0.022372215904915067, 0.030381942675356766, 0.04464285717528297, 0.07499999999970103,
          0.16666666666666763),
    erf=(1.47231813013777e-06, -1.4845580135701108e-05, 0.00012053324159141756,
         -0.0008548297520953419, 0.005223977370284031, -0.026866170632712977, 0.11283791670924803,
         -0.37612638903183465, 0.12837916709551256))

PRECISIONS = {"float": SINGLE, "double": DOUBLE}

# log(1 + f) = f - f^2 / 2 + f^3 q(f), for 0.699 <= 1 + f <= 1.399.
LOG_SINGLE = (-0.08422598987817764, 0.131259024143219, -0.13053198158740997, 0.14146536588668823,
              -0.16627547144889832, 0.2000364512205124, -0.2500077486038208, 0.3333330452442169)
# log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 q(s^2)), s = f / (2 + f), for |s| <= 0.18.
LOG_DOUBLE = (0.14953771719187808, 0.1529838396625509, 0.18184169291842753, 0.22222187152552658,
              0.28571428850567393, 0.39999999998947994, 0.6666666666666801)
# -log2(erfc(x)) / x for 0.59 <= x <= 3.95; (2^r - 1) / r for |r| <= 1/2.
ERF_FAR = (-1.3721704817726277e-05, -0.00019184898701496422, 0.004243216942995787,
           -0.032348647713661194, 0.15125150978565216, 0.9174198508262634, 1.628056287765503)
ERF_BETWEEN, ERF_LIMIT = 0.6, 3.95
EXP2_SINGLE = (0.00015469725543114938, 0.0013390859845123677, 0.009618030967136234,
               0.05550357117682187, 0.24022651079828036, 0.6931471880256551, 1.0)
