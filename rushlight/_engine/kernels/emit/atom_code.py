"""The LLVM column of the atoms' table: one emitter per atom name.

An emitter gets the dtype name its operands were brought to, and Lanes; it gives a Lane. An atom
without an emitter for a dtype raises `Unsupported`, and the kernel stays on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from rushlight._engine.kernels.emit import gamma_code as gamma, vector_math as vm
from rushlight._engine.kernels.emit.lanes import Lane, is_float
from rushlight._engine.kernels.emit.llvm_ir import BITS
from rushlight._engine.kernels.emit.polynomials import PRECISIONS
from rushlight._engine.kernels.emit.target import Unsupported
from rushlight._engine.ops.atoms import POWERS

Emitter = Callable[..., Lane]

LLVM = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float32": "float",
    "float64": "double",
}


def unsigned(d: str) -> bool:
    """Whether integers of dtype `d` have no sign."""
    return d.startswith("uint") or d == "bool"


# --- conversions ----------------------------------------------------------------------------------


def convert(x: Lane, source: str, target: str) -> Lane:
    """A value of one compute dtype in another, as C converts."""
    if source == target:
        return x
    kind, wanted = LLVM[source], LLVM[target]
    if target == "bool":
        return x.compare("ne", 0)
    if is_float(kind) and is_float(wanted):
        return x.cast("fpext" if wanted == "double" else "fptrunc", wanted)
    if is_float(wanted):
        return x.cast("uitofp" if unsigned(source) else "sitofp", wanted)
    if is_float(kind):
        return _float_to_int(x, target, wanted)
    if BITS[kind] == BITS[wanted]:
        return x
    if BITS[kind] > BITS[wanted]:
        return x.cast("trunc", wanted)
    return x.cast("zext" if unsigned(source) else "sext", wanted)


def _float_to_int(x: Lane, target: str, wanted: str) -> Lane:
    # By way of a wider signed integer, so that 300.0 wraps to 44 as an uint8.
    if target == "uint64":
        return x.cast("fptoui", wanted)
    middle = "i32" if BITS[wanted] <= 16 or target == "int32" else "i64"
    x = x.cast("fptosi", middle)
    return x if middle == wanted else x.cast("trunc", wanted)


# --- helpers --------------------------------------------------------------------------------------


def _floating(x: Lane, op: str) -> None:
    if x.kind not in PRECISIONS:
        raise Unsupported(f"{op} of {x.kind}")


def _vector(name: str, function: Callable[..., Lane]) -> Emitter:
    def emit(d: str, *operands: Lane) -> Lane:
        _floating(operands[0], name)
        return function(*operands)

    return emit


def through_double(function: Callable[..., Lane]) -> Emitter:
    """A float32 function by way of float64: rounded once, and no second set of constants."""
    return _vector(
        function.__name__,
        lambda *x: (
            function(*x)
            if x[0].kind == "double"
            else function(*[o.cast("fpext", "double") for o in x]).cast("fptrunc", "float")
        ),
    )


def _libm(name: str) -> Emitter:
    """The C library's function."""
    return _vector(name, lambda *x: x[0].function.scalars(name + ("f" if x[0].kind == "float" else ""), *x))


def _erfc(d: str, x: Lane) -> Lane:
    # The C library's is the better one of doubles, ours fast.
    return (through_double(vm.erfc) if x.kind == "float" else _libm("erfc"))(d, x)


def _erfinv(d: str, x: Lane) -> Lane:
    return through_double(vm.erfinv_short if x.kind == "float" else vm.erfinv)(d, x)


def _hypot(d: str, x: Lane, y: Lane) -> Lane:
    return (through_double(vm.hypot_of_floats) if x.kind == "float" else _libm("hypot"))(d, x, y)


def _atan2(d: str, y: Lane, x: Lane) -> Lane:
    # As erfc.
    return (through_double(vm.atan2) if x.kind == "float" else _libm("atan2"))(d, y, x)


def _intrinsic(name: str) -> Emitter:
    """Of floats; integers are left as they are."""
    return lambda d, x: x.function.intrinsic(name, x) if is_float(x.kind) else x


def _operator(method: str) -> Emitter:
    return lambda d, a, b: getattr(a, method)(b)


def _compare(relation: str) -> Emitter:
    return lambda d, a, b: a.compare(relation, b, unsigned(d))


def _truth(x: Lane) -> Lane:
    return x if x.kind == "i1" else x.compare("ne", 0)


def _bitwise(op: str) -> Emitter:
    def emit(d: str, a: Lane, b: Lane) -> Lane:
        if is_float(a.kind):
            raise Unsupported(f"bitwise {op} of {d}")
        return a.bits(op, b)

    return emit


def _logical(op: str) -> Callable[..., Lane]:
    # Operands of these keep their own dtypes.
    return lambda d, a, b: _truth(a).bits(op, _truth(b))


def _on_bool(op: str, emitter: Emitter) -> Emitter:
    """On bools an operator is a logical one: + is or, * is and."""
    return lambda d, a, b: a.bits(op, b) if d == "bool" else emitter(d, a, b)


# --- arithmetic -----------------------------------------------------------------------------------


def _fractional(op: str, a: Lane) -> None:
    # Of integers, the processor traps on x / 0, where an exception is due: NumPy's kernels look first.
    if not is_float(a.kind):
        raise Unsupported(f"{op} of integers")


def _opposed(d: str, rest: Lane, b: Lane) -> Lane:
    """Where a remainder is not 0 and has the other sign than the divisor."""
    return rest.compare("ne", 0) & ((rest < 0) ^ (b < 0))


def _trunc_divide(d: str, a: Lane, b: Lane) -> Lane:
    _fractional("trunc_divide", a)
    return a.function.intrinsic("llvm.trunc", a / b)


def _floor_divide(d: str, a: Lane, b: Lane) -> Lane:
    rest = _fmod(d, a, b)
    quotient = (a - rest) / b
    quotient = _opposed(d, rest, b).where(quotient - 1, quotient)
    whole = a.function.intrinsic("llvm.floor", quotient)
    whole = (quotient - whole > 0.5).where(whole + 1, whole)
    whole = quotient.equal(0).where((a.other(0.0)).copysign(a / b), whole)
    return b.equal(0).where(a / b, whole)


def _fmod(d: str, a: Lane, b: Lane) -> Lane:
    """Of quotients below 2^22 by one division: the product of a whole quotient is taken off exactly."""
    _fractional("fmod", a)
    if not a.function.module.fma:
        return _libm("fmod")(d, a, b)
    ratio = a / b
    rest = (-a.function.intrinsic("llvm.trunc", ratio)).fma(b, a)
    over = rest.compare("ne", 0) & ((rest < 0) ^ (a < 0))  # the quotient was rounded up to the next whole
    rest = over.where(rest + b.abs().copysign(a), rest).abs().copysign(a)
    fits = (ratio.abs() < 2.0**22) & (b.abs() < float("inf"))
    return mostly(fits, rest, lambda: _libm("fmod")(d, a, b))


def _remainder(d: str, a: Lane, b: Lane) -> Lane:
    rest = _fmod(d, a, b)
    return _opposed(d, rest, b).where(rest + b, rest)


def _abs(d: str, x: Lane) -> Lane:
    if is_float(x.kind):
        return x.abs()
    return x if unsigned(d) else (x < 0).where(-x, x)


def _sgn(d: str, x: Lane) -> Lane:
    if d == "bool":
        return x
    if unsigned(d):
        return x.compare("ne", 0).where(x.other(1), 0)
    return (x > 0).where(x.other(1), (x < 0).where(x.other(-1), 0))


def _pow(d: str, a: Lane, b: Lane) -> Lane:
    if not is_float(a.kind):
        raise Unsupported("pow of integers")
    if a.kind == "double":
        return _libm("pow")(d, a, b)
    z, regular = vm.pow_regular(a, b), (a > 0) & (a < vm.INF) & (b.abs() < vm.INF)
    return mostly(regular, z, lambda: vm.pow_special(a, b, z))


def _power(d: str, a: Lane, b: Lane) -> Lane:
    """To one number, in all lanes: products, then quotients and roots, then any other power."""

    def equal(exponents: list[float]) -> Lane:
        return reduce(or_, [b.equal(exponent) for exponent in exponents])

    def chosen(exponents: list[float]) -> Lane:
        return reduce(lambda z, e: b.equal(e).where(POWERS[e](a, Lane.sqrt), z), exponents, a)

    _floating(a, "power")
    products, others = [*POWERS][:3], [*POWERS][3:]
    return mostly(
        equal(products),
        chosen(products),
        lambda: mostly(
            equal(others), mostly(~equal(others), a, lambda: chosen(others), ""), lambda: _pow(d, a, b), ""
        ),
        "",
    )


def _extreme(relation: str, numbers: bool = False) -> Emitter:
    """The larger or smaller; `numbers`: it prefers them to nan."""

    def emit(d: str, a: Lane, b: Lane) -> Lane:
        best = a.compare(relation, b, unsigned(d)).where(a, b)
        return (b if numbers else a).is_nan().where(a, best) if is_float(a.kind) else best

    return emit


_at_least, _at_most = _extreme("ge"), _extreme("le")


def _shift(op: str, signed_op: str) -> Emitter:
    def emit(d: str, a: Lane, b: Lane) -> Lane:
        bits = BITS[a.kind]
        outside = b.compare("ge", bits, True)
        arithmetic = signed_op == "ashr" and not unsigned(d)
        count = outside.where(bits - 1 if arithmetic else 0, b)
        shifted = a.bits(signed_op if arithmetic else op, count)
        return shifted if arithmetic else outside.where(0, shifted)

    return emit


# --- classification -------------------------------------------------------------------------------


def _floats(test: Callable[[Lane], Lane], others: bool) -> Emitter:
    """A test of floats, and what it says of all other numbers."""
    return lambda d, x: test(x) if is_float(x.kind) else x.function.const("i1", others)


def _signbit(d: str, x: Lane) -> Lane:
    if is_float(x.kind):
        return x.cast("bitcast", PRECISIONS[x.kind].integer) < 0
    return x.function.const("i1", 0) if unsigned(d) else x < 0


def _trigonometric(name: str, moderate: Callable[[Lane], Lane]) -> Emitter:
    """The vector body, and the C library for lanes that are too large for its reduction."""

    def emit(d: str, x: Lane) -> Lane:
        _floating(x, name)
        if not x.function.module.fma:
            return _libm(name)(d, x)
        return mostly(x.abs() <= PRECISIONS[x.kind].trig_limit, moderate(x), lambda: _libm(name)(d, x))

    return emit


def mostly(fits: Lane, small: Lane, otherwise: Callable[[], Lane], weights: str = ", !prof !0") -> Lane:
    """`small` in the lanes that fit; the others branch off to another way, rare if `weights` say so."""
    f = small.function
    slow, done, before = f.fresh("huge"), f.fresh("done"), f.block
    f.emit(f"br i1 {f.any(~fits)}, label %{slow}, label %{done}{weights}")
    f.start(slow)
    # A lane's neighbours, which may be leftovers behind the end of an array, must not change its bits.
    full, slow = fits.where(small, otherwise()), f.block
    f.emit(f"br label %{done}")
    f.start(done)
    return f.lanes(small.kind, f"phi {small.type} [{small.name}, %{before}], [{full.name}, %{slow}]")


def _tan(d: str, x: Lane) -> Lane:
    """Of float32 by way of doubles."""
    if x.kind != "float" or not x.function.module.fma:
        return _libm("tan")(d, x)
    wide = x.cast("fpext", "double")
    found = (vm.sin_moderate(wide) / vm.cos_moderate(wide)).cast("fptrunc", "float")
    return mostly(x.abs() <= PRECISIONS["float"].trig_limit, found, lambda: _libm("tan")(d, x))


def _lgamma(d: str, x: Lane) -> Lane:
    """Of positive float32 by way of doubles, else the C library's."""
    if x.kind != "float":
        return _libm("lgamma")(d, x)
    wide = x.cast("fpext", "double")
    usual = (wide > 0) & (wide < vm.INF)
    found = mostly(usual, gamma.lgamma_positive(wide), lambda: _libm("lgamma")(d, wide))
    return found.cast("fptrunc", "float")


def _digamma(x: Lane) -> Lane:
    positive = gamma.digamma_positive(x)
    return mostly(~(x < 0), positive, lambda: gamma.digamma_reflected(x))


def _fma(d: str, a: Lane, b: Lane, c: Lane) -> Lane:
    return a.fma(b, c) if is_float(a.kind) else EMITTERS["add"](d, EMITTERS["mul"](d, a, b), c)


EMITTERS: dict[str, Emitter] = {
    **{
        name: _vector(name, getattr(vm, name))
        for name in (
            "exp exp2 expm1 log log2 log1p sigmoid asin acos atan sinh cosh tanh asinh acosh atanh erf"
        ).split()
    },
    "log10": _libm("log10"),
    "nextafter": _vector("nextafter", vm.nextafter),
    "hypot": _hypot,
    "atan2": _atan2,
    **{name: _compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"bitwise_{op}": _bitwise(op) for op in ("and", "or", "xor")},
    **{f"logical_{op}": _logical(op) for op in ("and", "or", "xor")},
    **{name: _intrinsic(f"llvm.{name}") for name in ("floor", "ceil", "trunc")},
    "add": _on_bool("or", _operator("__add__")),
    "sub": _operator("__sub__"),
    "mul": _on_bool("and", _operator("__mul__")),
    "div": _vector("div", Lane.__truediv__),
    "neg": lambda d, x: -x,
    "reciprocal": _vector("reciprocal", lambda x: 1 / x),
    "fma": _fma,
    "pow": _pow,
    "power": _power,
    "abs": _abs,
    "sgn": _sgn,
    "floor_divide": _floor_divide,
    "trunc_divide": _trunc_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "copysign": lambda d, a, b: a.copysign(b),
    "sqrt": _vector("sqrt", Lane.sqrt),
    "rsqrt": _vector("rsqrt", lambda x: 1 / x.sqrt()),
    "sin": _trigonometric("sin", vm.sin_moderate),
    "cos": _trigonometric("cos", vm.cos_moderate),
    "tan": _tan,
    "erfc": _erfc,
    "erfinv": _erfinv,
    "lgamma": _lgamma,
    "digamma": through_double(_digamma),
    "maximum": _extreme("gt"),
    "minimum": _extreme("lt"),
    "clamp_min": _at_least,
    "clamp_max": _at_most,
    "fmax": _extreme("ge", True),
    "fmin": _extreme("le", True),
    "relu": lambda d, x: x if unsigned(d) else (x < 0).where(0, x),
    "hardtanh": lambda d, x, low, high: _at_most(d, _at_least(d, x, low), high),
    "where": lambda d, c, a, b: _truth(c).where(a, b),
    "logical_not": lambda d, x: ~_truth(x),
    "isnan": _floats(Lane.is_nan, False),
    "isinf": _floats(lambda x: x.abs().equal(vm.INF), False),
    "isfinite": _floats(lambda x: x.abs() < vm.INF, True),
    "signbit": _signbit,
    "bitwise_not": lambda d, x: ~x,
    "round": _intrinsic("llvm.rint"),
    "shift_left": _shift("shl", "shl"),
    "shift_right": _shift("lshr", "ashr"),
    "conj": lambda d, x: x,
    "real": lambda d, x: x,
    "imag": lambda d, x: x.other(0),
}
