"""Functions that the CPU's kernels take from the C library, written for machines that have none.

Kernels compute nearly everything by the emitter's own polynomials; what is left are rare lanes (a sine of a
huge number, a remainder of a huge quotient) and a few functions. `definition` gives one as LLVM IR.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from fractions import Fraction
from functools import cache, partial

from rushlight._engine.devices.cuda.kernels import formulas
from rushlight._engine.kernels.emit import vector_math as vm
from rushlight._engine.kernels.emit.lanes import Lane, polynomial
from rushlight._engine.kernels.emit.llvm_ir import Function, Module, literal
from rushlight._engine.kernels.emit.special_code import written

_PI = Fraction(
    31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679,
    10**100,
)
_LOG_2 = (
    "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687"
)


def _parts(number: Fraction, count: int) -> list[float]:
    """Doubles that add up to a number."""
    found = []
    for _ in range(count):
        found.append(float(number))
        number -= Fraction(found[-1])
    return found


_HALF_PI = _parts(_PI / 2, 4)
# The bits of 2 / pi from 2^-1 on, at bit 223 of a number of 256 bits and below.
_TURNS = int(2 / _PI * (1 << 224))
_WINDOW, _SHIFT = 96, 94


# --- circular functions ---------------------------------------------------------------------------


def _turned(x: Lane) -> tuple[Lane, Lane]:
    """A double as k pi/2 + r: (r, k modulo 4 as a double), to rounding for |x| < 2^45."""
    f, r, turns = x.function, x, x.other(0.0)
    for _ in range(2):
        n = f.intrinsic("llvm.rint", r * (2 / math.pi))
        for part in _HALF_PI:
            r = (-n).fma(part, r)
        turns = turns + (n - f.intrinsic("llvm.floor", n * 0.25) * 4.0)
    return r, turns - f.intrinsic("llvm.floor", turns * 0.25) * 4.0


def _turned_float(x: Lane) -> tuple[Lane, Lane]:
    """The same of any float32: exactly, by integers (after Payne and Hanek). x: not below 4, as the lanes are
    that come here.
    """
    f = x.function
    bits = f.op(f"extractelement {x.cast('bitcast', 'i32')!r}, i64 0")
    exponent = f.op(f"and i32 {f.op(f'lshr i32 {bits}, 23')}, 255")
    mantissa = f.op(f"or i32 {f.op(f'and i32 {bits}, 8388607')}, 8388608")
    # |x| = mantissa * 2^e; turns of weight 4 and more do not count.
    e = f.op(f"sub i32 {exponent}, 150")
    place = f.op(f"sub i32 {224 - _WINDOW + 2}, {e}")
    amount = f.op(f"zext i32 {place} to i256")
    window = f.op(f"trunc i256 {f.op(f'lshr i256 {_TURNS}, {amount}')} to i128")
    window = f.op(f"and i128 {window}, {(1 << _WINDOW) - 1}")
    product = f.op(f"mul i128 {window}, {f.op(f'zext i32 {mantissa} to i128')}")
    # Of 94 bits of fraction the upper 64, rounded to the nearest turn.
    upper = f.op(f"trunc i128 {f.op(f'lshr i128 {product}, {_SHIFT - 64}')} to i64")
    turns = f.op(f"trunc i128 {f.op(f'lshr i128 {product}, {_SHIFT}')} to i32")
    half = f.i64("icmp slt", upper, 0)
    turns = f.op(f"add i32 {turns}, {f.op(f'zext i1 {half} to i32')}")
    turns = f.op(f"and i32 {turns}, 3")
    rest = Lane(f, "double", f.op(f"sitofp <1 x i64> {f.splat('i64', upper).name} to <1 x double>"))
    sign = (x < 0.0).where(rest.other(-1.0), 1.0)
    r = rest * (2.0**-64 * math.pi / 2) * sign
    k = Lane(f, "double", f.op(f"uitofp <1 x i32> {f.splat('i32', turns).name} to <1 x double>"))
    k = (k * sign) + (sign < 0.0).where(k.other(4.0), 0.0)
    nothing = x.other(float("nan")).cast("fpext", "double")
    finite = x.abs() < float("inf")
    return finite.where(r, nothing), k - (k >= 4.0).where(k.other(4.0), 0.0)


def _quadrant(r: Lane, turns: Lane, cosine: bool) -> Lane:
    """The sine or cosine of turns * pi / 2 + r."""
    sine, other = vm.sin_moderate(r), vm.cos_moderate(r)
    odd = turns.equal(1.0) | turns.equal(3.0)
    if cosine:
        value, negative = odd.where(sine, other), turns.equal(1.0) | turns.equal(2.0)
    else:
        value, negative = odd.where(other, sine), turns >= 2.0
    return negative.where(-value, value)


def _circular(kind: str) -> Callable[[Lane], Lane]:
    def function(x: Lane) -> Lane:
        r, turns = (_turned if x.kind == "double" else _turned_float)(x)
        if kind == "tan":
            found = _quadrant(r, turns, False) / _quadrant(r, turns, True)
        else:
            found = _quadrant(r, turns, kind == "cos")
        return found if x.kind == "double" else found.cast("fptrunc", "float")

    return function


# --- remainders -----------------------------------------------------------------------------------


def _fmod(x: Lane, y: Lane) -> Lane:
    """The remainder of doubles, exactly: quotients of at most 50 bits are taken off, one after the other."""
    f = x.function
    f.module.declare("@llvm.fma.f64", "declare double @llvm.fma.f64(double, double, double)")
    f.module.declare("@llvm.trunc.f64", "declare double @llvm.trunc.f64(double)")
    divisor = f.op(f"extractelement {y.abs()!r}, i64 0")
    rest = f.var(f.op(f"extractelement {x.abs()!r}, i64 0"), "double")
    with f.endless() as done:
        r = rest.get()
        f.leave(f.op(f"fcmp ult double {r}, {divisor}"), done)
        ratio = f.op(f"fdiv double {r}, {divisor}")
        # A power of two times the divisor, where the quotient has more than 50 bits.
        bits = f.op(f"bitcast double {ratio} to i64")
        excess = f.i64("sub", f.i64("lshr", bits, 52), 1023 + 50)
        excess = f.op(f"select i1 {f.i64('icmp sgt', excess, 0)}, i64 {excess}, i64 0")
        scale = f.op(f"bitcast i64 {f.i64('shl', f.i64('add', excess, 1023), 52)} to double")
        step = f.op(f"fmul double {divisor}, {scale}")
        quotient = f.op(f"call double @llvm.trunc.f64(double {f.op(f'fdiv double {r}, {step}')})")
        minus = f.op(f"fneg double {quotient}")
        less = f.op(f"call double @llvm.fma.f64(double {minus}, double {step}, double {r})")
        # The quotient was rounded up to the next whole.
        over = f.op(f"fcmp olt double {less}, {literal('double', 0.0)}")
        rest.set(f.op(f"select i1 {over}, double {f.op(f'fadd double {less}, {step}')}, double {less}"))
    found = f.splat("double", rest.get()).copysign(x)
    return (y.is_nan() | y.equal(0.0) | ~(x.abs() < float("inf"))).where(found.other(float("nan")), found)


# --- others ---------------------------------------------------------------------------------------


def _atan2(y: Lane, x: Lane) -> Lane:
    both = y.abs().equal(float("inf")) & x.abs().equal(float("inf"))
    nothing = y.equal(0.0) & x.equal(0.0)
    quotient = (both | nothing).where(nothing.where(y.abs(), x.other(1.0)), y.abs() / x.abs())
    base = vm.atan(quotient)
    left = x.cast("bitcast", "i64") < 0
    angle = left.where(math.pi - base, base).copysign(y)
    return (x.is_nan() | y.is_nan()).where(angle.other(float("nan")), angle)


def _hypot(x: Lane, y: Lane) -> Lane:
    a, b = x.abs(), y.abs()
    large, small = (a > b).where(a, b), (a > b).where(b, a)
    ratio = small / large
    found = large.equal(0.0).where(large, large * (ratio * ratio + 1.0).sqrt())
    endless = a.equal(float("inf")) | b.equal(float("inf"))
    found = endless.where(found.other(float("inf")), found)
    return (~endless & (a.is_nan() | b.is_nan())).where(found.other(float("nan")), found)


def _log10(x: Lane) -> Lane:
    return vm.log(x) * math.log10(math.e)


# --- powers of doubles ----------------------------------------------------------------------------

Pair = tuple[Lane, Lane]
_LN2 = _parts(Fraction(_LOG_2), 2)
_TWO_THIRDS = _parts(Fraction(2, 3), 2)


def _added(a: Lane, b: Lane) -> Pair:
    """a + b and what rounding loses of it, for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def _times(a: Pair, b: Pair) -> Pair:
    """The product of numbers that are sums of two."""
    high = a[0] * b[0]
    low = a[0].fma(b[0], -high) + (a[0] * b[1] + a[1] * b[0])
    return _added(high, low)


def _log_pair(x: Lane) -> Pair:
    """The logarithm of a positive number, to some 65 bits."""
    e, g = vm._split_any(x)
    # log(1 + g) = 2 s + 2/3 s^3 + s^5 q(s^2), s = g / (2 + g)
    below = g + 2
    lost = g - (below - 2)
    high = g / below
    low = ((-high).fma(below, g) - high * lost) / below
    s = _added(high, low)
    square = _times(s, s)
    cube = _times(_times(s, square), (x.other(_TWO_THIRDS[0]), x.other(_TWO_THIRDS[1])))
    q = polynomial(square[0], [2 / k for k in range(25, 4, -2)])
    rest = square[0] * square[0] * s[0] * q
    whole = e * _LN2[0]
    first, error = _added(whole, s[0] * 2)
    second, less = _added(first, cube[0])
    rest = rest + (e.fma(_LN2[0], -whole) + e * _LN2[1])
    return _added(second, rest + (error + less + s[1] * 2 + cube[1]))


def _pow(x: Lane, y: Lane) -> Lane:
    """x^y as C's pow says, of doubles to one unit of the last place."""
    size = x.abs()
    # Of 0, infinity and nan anything: they are put right below.
    plain = (size > 0.0) & (size < float("inf"))
    high, low = _log_pair(plain.where(size, 1.0))
    huge = y.abs() > 1e290
    exponent = huge.where(x.other(1e290).copysign(y), y)
    product = _times((high, low), (exponent, x.other(0.0)))
    whole = product[0]
    found = vm.exp(whole)
    finite = found < float("inf")
    found = finite.where(found.fma(finite.where(product[1], 0.0), found), found)
    return _special_powers(x, y, found)


def _special_powers(x: Lane, y: Lane, z: Lane) -> Lane:
    f, size, endless = x.function, x.abs(), float("inf")
    z = (size.equal(0.0) | size.equal(endless)).where((y < 0.0).where(1 / size, size), z)
    whole = f.intrinsic("llvm.trunc", y)
    half = whole * 0.5
    odd = f.intrinsic("llvm.trunc", half).compare("ne", half) & y.equal(whole)
    negative = x.cast("bitcast", "i64") < 0
    z = (odd & negative).where(-z, z)
    z = (y.compare("ne", whole) & (x < 0.0) & (x > -endless)).where(float("nan"), z)
    z = (size.equal(1.0) & y.abs().equal(endless)).where(1.0, z)
    z = x.is_nan().where(x, y.is_nan().where(y, z))
    return (y.equal(0.0) | x.equal(1.0)).where(1.0, z)


# --- whole numbers --------------------------------------------------------------------------------


def _scalar(x: Lane) -> str:
    return x.function.op(f"extractelement {x!r}, i64 0")


def _whole_pow(a: Lane, b: Lane, signed: bool = True) -> Lane:
    """By squares; to a negative power 0, but for 1 and -1."""
    f = a.function
    count = (b < 0).where(0, b) if signed else b
    base, left, total = f.var(_scalar(a)), f.var(_scalar(count)), f.var("1")
    with f.endless() as done:
        n = left.get()
        f.leave(f.i64("icmp eq", n, 0), done)
        odd = f.op(f"trunc i64 {n} to i1")
        now, square = total.get(), base.get()
        total.set(f.op(f"select i1 {odd}, i64 {f.i64('mul', now, square)}, i64 {now}"))
        base.set(f.i64("mul", square, square))
        left.set(f.i64("lshr", n, 1))
    found = f.splat("i64", total.get())
    if not signed:
        return found
    sign = (b & 1).equal(0).where(b.other(1), -1)
    tiny = a.equal(1).where(a.other(1), a.equal(-1).where(sign, 0))
    return (b < 0).where(tiny, found)


def _gcd(a: Lane, b: Lane) -> Lane:
    f = a.function
    one, two = (f.var(_scalar((x < 0).where(0 - x, x))) for x in (a, b))
    with f.endless() as done:
        x, y = one.get(), two.get()
        f.leave(f.i64("icmp eq", y, 0), done)
        one.set(y)
        two.set(f.i64("urem", x, y))
    return f.splat("i64", one.get())


def _by_double(function: Callable[..., Lane]) -> Callable[..., Lane]:
    def wide(*given: Lane) -> Lane:
        return function(*[x.cast("fpext", "double") for x in given]).cast("fptrunc", "float")

    return wide


# By the C library's names, of doubles and of floats: (operands, the function).
_FUNCTIONS: dict[str, tuple[int, Callable[..., Lane]]] = {
    **{name: (1, _circular(name)) for name in ("sin", "cos", "tan")},
    **{f"{name}f": (1, _circular(name)) for name in ("sin", "cos", "tan")},
    "fmod": (2, _fmod),
    "atan2": (2, _atan2),
    "hypot": (2, _hypot),
    "log10": (1, _log10),
    "fmodf": (2, _by_double(_fmod)),
    "atan2f": (2, _by_double(_atan2)),
    "log10f": (1, _by_double(_log10)),
    "erfc": (1, vm.erfc),
    "pow": (2, _pow),
    **{name: (count, written(formula)) for name, (count, formula) in formulas.FORMULAS.items()},
}
# Of whole numbers of 64 bits; of those without a sign every power is a power.
_WHOLE: dict[str, tuple[int, Callable[..., Lane]]] = {
    "whole_pow": (2, _whole_pow),
    "uwhole_pow": (2, partial(_whole_pow, signed=False)),
    "gcd": (2, _gcd),
}
NAMES = frozenset((*_FUNCTIONS, *_WHOLE))


@cache
def definition(name: str) -> tuple[tuple[str, ...], str]:
    """(declarations that it needs, the function) of a name of NAMES."""
    count, function = _WHOLE[name] if name in _WHOLE else _FUNCTIONS[name]
    kind = "i64" if name in _WHOLE else "float" if name.endswith("f") else "double"
    module = Module(fma=True)
    params = ", ".join(f"{kind} %x{k}" for k in range(count))
    # Of long ones there is one copy, which is called.
    how = " noinline" if name == "pow" or name in formulas.FORMULAS else ""
    f = Function(module, f"define internal {kind} @{name}({params}){how}")
    f.mark_early()
    found = function(*[f.splat(kind, f"%x{k}") for k in range(count)])
    f.emit(f"ret {kind} {f.op(f'extractelement {found!r}, i64 0')}")
    f.finish()
    return tuple(module._declared.values()), module.functions[0]


def defined(text: str, names: set[str]) -> str:
    """A module's text with functions of NAMES, and those that they call, defined in place of declarations."""
    wanted, every = sorted(names), dict[str, str]()
    declared = set[str]()
    while wanted:
        name = wanted.pop()
        if name not in every:
            declarations, every[name] = definition(name)
            declared.update(declarations)
            wanted += sorted(foreign("\n".join(declarations)))
    lines = [s for s in text.splitlines() if not _declares(s, every)]
    known = {s for s in lines if s.startswith("declare")}
    more = [s for s in sorted(declared) if s not in known and not _declares(s, every)]
    return "\n".join([*more, *every.values(), *lines])


def foreign(text: str) -> set[str]:
    """The functions that a module declares, but for LLVM's own."""
    return set(re.findall(r"^declare \w+ @((?!llvm\.)\w+)\(", text, re.MULTILINE))


def _declares(line: str, names: Collection[str]) -> bool:
    return line.startswith("declare ") and any(f"@{name}(" in line for name in names)
