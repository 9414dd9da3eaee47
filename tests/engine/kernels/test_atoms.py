"""Every atom's machine code equals its NumPy meaning: dense grids and special values, all dtypes."""

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core import dtype as dt
from rushlight._engine.derive.exactness import EXACT, NUMPY_ALONE
from rushlight._engine.derive.reference import evaluate
from rushlight._engine.kernels.emit.atom_code import EMITTERS
from rushlight._engine.kernels.emit.special_code import SPECIAL
from rushlight._engine.kernels.loops.pointwise import Pointwise, pointwise
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import m, symbol

pytestmark = pytest.mark.usefixtures("llvm")
X, Y, Z = symbol("x"), symbol("y"), symbol("z")
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int8", "int16", "int32", "int64", "uint8")
# Operands of which atom lie where; others get the whole range.
DOMAIN = {
    "exp": (-110, 95),
    "exp2": (-155, 130),
    "expm1": (-30, 90),
    "sigmoid": (-110, 110),
    "tanh": (-12, 12),
    "sin": (-1e4, 1e4),
    "cos": (-1e4, 1e4),
    "tan": (-100, 100),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "erfinv": (-1, 1),
    "erf": (-6, 6),
    "erfc": (-6, 12),
    "sinh": (-95, 95),
    "cosh": (-95, 95),
    "lgamma": (0.1, 40),
    "acosh": (1, 1e6),
    "log": (0, 1e6),
    "log2": (0, 1e6),
    "log10": (0, 1e6),
    "log1p": (-1, 1e6),
    "rsqrt": (0, 1e6),
    "sqrt": (0, 1e6),
}
# Largest errors in units in the last place, (float32, float64), of the vector functions; operators,
# comparisons, roots and roundings are exact to half a unit, and the C library's to one or two.
ULP = {
    "exp": (1.1, 1.1),
    "exp2": (1.1, 1.5),
    "expm1": (2, 2),
    "log": (1.2, 1.2),
    "log2": (2, 2),
    "log10": (2, 2),
    "log1p": (1.5, 2),
    "sigmoid": (2.6, 2.6),
    "tanh": (2.6, 3),
    "sin": (0.57, 1),
    "cos": (0.57, 1),
    "tan": (2, 2),
    "asin": (2.5, 2),
    "acos": (2.5, 2.5),
    "atan": (3, 2),
    "atan2": (1.5, 2),
    "sinh": (2.6, 3),
    "cosh": (2, 2.5),
    "asinh": (3, 3),
    "acosh": (3, 3.5),
    "atanh": (3, 3.5),
    "erf": (1.5, 2),
    "erfc": (1, 5),
    "erfinv": (1, 5),
    "digamma": (1, 500),  # of doubles close to its roots, where NumPy's is as far off
    "pow": (0.501, 2),
    "lgamma": (1.1, 4),
    "hypot": (1, 1),
    "rsqrt": (1.5, 1.5),
}
SPECIALS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0]
# The sign of a zero result is left open.
ZERO_SIGN_OPEN = {
    "remainder",
    "fmod",
    "floor_divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clamp_min",
    "clamp_max",
    "relu",
    "hardtanh",
    "sgn",
    "round",
    "lgamma",
}
DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")
INTEGRAL = [
    "add",
    "sub",
    "mul",
    "fma",
    "neg",
    "abs",
    "sgn",
    "floor_divide",
    "trunc_divide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "clamp_min",
    "clamp_max",
    "relu",
    "hardtanh",
    "where",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_not",
    "shift_left",
    "shift_right",
    "floor",
    "round",
]
NOT_FLOATING = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"}
OPERANDS = {
    "hardtanh": 3,
    "fma": 3,
    "where": 3,
    **dict.fromkeys(
        "add sub mul div pow floor_divide trunc_divide remainder fmod copysign nextafter hypot atan2 "
        "maximum minimum clamp_min clamp_max fmax fmin eq ne lt le gt ge logical_and logical_or "
        "logical_xor bitwise_and bitwise_or bitwise_xor shift_left shift_right".split(),
        2,
    ),
}


def narrow(values, d):
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dt.BY_NAME[d].np)


def grid(name, d):
    """Values of the atom's domain, dense and at every scale, and the special ones."""
    rng = np.random.default_rng(len(name))
    low, high = DOMAIN.get(name, (-50, 50))
    scale = 2.0 ** rng.uniform(-20, 12, 400) * rng.choice([-1, 1], 400)
    values = np.concatenate([rng.uniform(low, high, 700), rng.uniform(-2, 2, 300), scale])
    info = ml_dtypes.finfo(dt.BY_NAME[d].np)
    edges = [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    kept = values[(values >= low) & (values <= high)]
    return narrow(np.concatenate([kept, SPECIALS, edges, np.negative(edges)]), d)


def operands(name, d):
    count = OPERANDS.get(name, 1)
    if d in FLOATS:
        first = grid(name, d)
        if count == 1:
            return [first]
        special = narrow(np.repeat(SPECIALS, len(SPECIALS)), d)
        rng = np.random.default_rng(1)
        rest = [
            np.concatenate([narrow(np.tile(SPECIALS, len(SPECIALS)), d), rng.permutation(first)])
            for _ in range(count - 1)
        ]
        return [np.concatenate([special, first]), *rest]
    info = np.iinfo(d) if d != "bool" else None
    rng = np.random.default_rng(2)
    if info is None:
        return [rng.integers(0, 2, 97).astype(bool) for _ in range(count)]
    edges = np.array([0, 1, 2, 3, info.max, info.min, info.max - 1], dtype=d)
    return [
        np.concatenate(
            [
                np.repeat(edges, 7) if k == 0 else np.tile(edges, 7),
                rng.integers(max(info.min, -40), 40, 203).astype(d),
            ]
        )
        for k in range(count)
    ]


def expression(name):
    arguments = [X, Y, Z][: OPERANDS.get(name, 1)]
    if name == "where":
        arguments[0] = m.gt(X, 0)
    return m.__getattr__(name)(*arguments)


def reference(root, arrays, d):
    """The NumPy meaning; of float32 and narrower, computed in float64."""
    env = dict(zip("xyz", arrays, strict=False))
    if d in ("float32", "float16", "bfloat16"):
        env = {k: a.astype(np.float64) for k, a in env.items()}
        return evaluate((root,), env, "float64")[0]
    return evaluate((root,), env, d)[0]


def errors(found, expected, d, bound):
    """Which results are further than `bound` units in the last place from the expected ones."""
    a = found.astype(np.float64)
    b = expected.astype(np.float64)
    info = ml_dtypes.finfo(dt.BY_NAME[d].np)
    with np.errstate(all="ignore"):
        rounded = narrow(expected, d).astype(np.float64)
        exponent = np.floor(np.log2(np.maximum(np.abs(b), float(info.tiny))))
        unit = 2.0 ** (exponent - info.nmant)
        near = np.abs(a - b) <= bound * unit
        # Beside the overflow threshold either side of it is near.
        edge = (np.abs(b) >= float(info.max)) & (np.abs(a) >= float(info.max)) & (a * b > 0)
    return ~((a == rounded) | near | edge | (np.isnan(a) & np.isnan(b)))


@pytest.mark.parametrize("d", FLOATS)
@pytest.mark.parametrize("exponent", [2, 3, 1, 0.5, -0.5, -1, -2, 0, 1.7, -3, 4])
def test_power_of_a_number(exponent, d):
    """Cheap ways for some exponents, with the same results of specials as NumPy's way has; signs of zero too."""
    x, number = grid("power", d), narrow(exponent, d)
    kernel = pointwise((m.power(X, Y),), (("x", d), ("y", d)), (d,))
    assert kernel.compile_now(), "no machine code"
    found, expected = kernel(x, number), narrow(evaluate((m.power(X, Y),), {"x": x, "y": number}, d)[0], d)
    assert not errors(found, expected, d, 2).any()
    zero = expected == 0
    assert (np.signbit(found[zero]) == np.signbit(expected[zero])).all()


@pytest.mark.parametrize("d", FLOATS)
@pytest.mark.parametrize("name", sorted(set(EMITTERS) - NOT_FLOATING - {"imag", "power"}))
def test_floating(name, d):
    root = expression(name)
    arrays = operands(name, d)
    is_bool = (
        m.eq(root, root).op == "eq"
        and evaluate((root,), dict(zip("xyz", [a[:1] for a in arrays], strict=False)), d)[0].dtype == bool
    )
    ins = tuple((n, d) for n, _ in zip("xyz", arrays, strict=False))
    kernel = pointwise((root,), ins, ("bool" if is_bool else d,))
    assert kernel.compile_now(), "no machine code"
    found = kernel(*arrays)
    expected = reference(root, arrays, d)
    if is_bool:
        np.testing.assert_array_equal(found, expected)
        return
    if name in ("nextafter", "trunc_divide") and d != "float64":
        expected = evaluate((root,), dict(zip("xyz", arrays, strict=False)), d)[0]
    bound = 0.501
    if d in ("float32", "float64"):
        # NumPy's own double results may be off by one.
        bound = ULP.get(name, (0.501, 0.501))[d == "float64"] + (d == "float64")
    elif name in ULP:
        bound = 1.01
    bad = errors(found, expected, d, bound)
    if name in ("sin", "cos", "tan"):
        bad &= np.abs(arrays[0].astype(np.float64)) < 1e5
    first = np.flatnonzero(bad)[:5]
    assert not bad.any(), [([a[i] for a in arrays], found[i], expected[i]) for i in first]
    if name not in ZERO_SIGN_OPEN:
        zeros = (expected == 0) & (found == 0)
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("d", [*INTS, "bool"])
@pytest.mark.parametrize("name", INTEGRAL)
def test_integral(name, d):
    if d == "bool" and name in (
        "sub",
        "neg",
        "floor_divide",
        "trunc_divide",
        "remainder",
        "fmod",
        "shift_left",
        "shift_right",
        "hardtanh",
        "signbit",
    ):
        pytest.skip("PyTorch has no such op on bools")
    if d == "uint8" and name == "neg":
        pytest.skip("tested by sub")
    arrays = operands(name, d)
    if name in DIVISIONS:
        keep = (arrays[1] != 0) & ~(
            (arrays[0].astype(np.int64) == np.iinfo(d).min) & (arrays[1].astype(np.int64) == -1)
        )
        arrays = [a[keep] for a in arrays]
    root = expression(name)
    env = dict(zip("xyz", arrays, strict=False))
    expected = evaluate((root,), env, d)[0]
    out = dt.from_numpy_dtype(expected.dtype).name
    kernel = pointwise((root,), tuple((n, d) for n in env), (out,))
    # Divisions of integers stay on NumPy, which looks for zeros first.
    assert kernel.compile_now() is (name not in DIVISIONS)
    np.testing.assert_array_equal(kernel(*arrays), expected)


def test_integers_are_not_divided_by_zero():
    a = np.array([1, 0, -5, np.iinfo(np.int64).min], np.int64)
    for name in DIVISIONS:
        kernel = pointwise((expression(name),), (("x", "int64"), ("y", "int64")), ("int64",))
        kernel(a, np.full(4, -1, np.int64))
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            kernel(a, np.array([1, 0, 1, 1]))
        kernel(a[:0], np.array([0]))


@pytest.mark.parametrize("source", [*FLOATS, *INTS, "bool"])
@pytest.mark.parametrize("target", [*FLOATS, *INTS, "bool"])
def test_conversion(source, target):
    values = np.array([0, 1, -1, 2, 100, -100, 0.5, -0.75, 33.25, 3, 7, 1.1, 65, 66, 67, 68, 1e-3])
    if source in INTS or source == "bool" or target == "uint8":
        values = np.abs(values)
    a = narrow(values, source)
    kernel = pointwise((X,), (("x", source),), (target,))
    assert kernel.compile_now()
    np.testing.assert_array_equal(kernel(a), a.astype(dt.BY_NAME[target].np))


def test_large_angles_go_to_the_c_library():
    for d in ("float32", "float64"):
        x = narrow([1e5, 1e9, 1e20, 3e38, -7e15, 0.5], d)
        for name in ("sin", "cos"):
            kernel = pointwise((expression(name),), (("x", d),), (d,))
            assert kernel.compile_now()
            expected = getattr(np, name)(x.astype(np.float64))
            assert not errors(kernel(x), expected, d, 2).any()


@pytest.mark.parametrize("exponent", [0.5, 2, 3, -1, -2, 0, 1, 1.5, -0.5])
def test_constant_powers(exponent):
    x = narrow([0.0, -0.0, 1, 2, 3.5, np.inf, -np.inf, np.nan, -2.0, 1e-3], "float32")
    root = m.pow(X, exponent)
    kernel = pointwise((root,), (("x", "float32"),), ("float32",))
    assert kernel.compile_now()
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        expected = 1 / np.sqrt(wide) if exponent == -0.5 else np.power(wide, exponent)
    assert not errors(kernel(x), expected, "float32", 1.6).any()


def test_unknown_atoms_stay_on_numpy():
    kernel = pointwise((m.gammainc(X, X),), (("x", "float32"),), ("float32",))
    assert not kernel.compile_now()
    np.testing.assert_allclose(kernel(np.float32([2.0])), [0.5939942], rtol=1e-6)


def test_zeta_of_floats_is_numpys() -> None:
    """Also where the sum is mirrored, and at poles and infinities; doubles stay on NumPy."""
    kernel = pointwise((m.zeta(X, Y),), (("x", "float32"), ("y", "float32")), ("float32",))
    assert kernel.compile_now()
    draw = np.random.default_rng(0)
    s, q = draw.uniform(1.01, 40, 600), draw.uniform(0.01, 50, 600)
    s[:300], q[:200] = np.rint(s[:300]), -q[:200]
    s[-6:], q[-6:] = (np.inf, np.inf, 1e38, 1.0, 0.5, 3.0), (0.5, 1.0, 2.0, 3.0, 2.0, -4.0)
    s, q = s.astype(np.float32), q.astype(np.float32)
    np.testing.assert_allclose(kernel.fn(s, q), ATOMS["zeta"].numpy(s, q), rtol=3e-7)
    assert not pointwise((m.zeta(X, X),), (("x", "float64"),), ("float64",)).compile_now()


def _any_bits(d, count, seed):
    """Numbers of a dtype: any bits, some near 1, and special ones."""
    rng, of = np.random.default_rng(seed), dt.BY_NAME[d].np
    if d == "bool":
        return rng.integers(0, 2, count).astype(bool)
    bits = rng.integers(0, 256, count * of.itemsize, dtype=np.uint8).view(of).copy()
    with np.errstate(all="ignore"):
        near = (rng.standard_normal(count) * 10 ** rng.uniform(-3, 3, count)).astype(of)
        special = np.array(SPECIALS if d in FLOATS else [0, 1, 2, 3, 7, 100]).astype(of)
    bits[::3], bits[::7] = near[::3], rng.choice(special, len(bits[::7]))
    return bits


def _other_bits(a, b):
    """Where two arrays differ, nan being nan."""
    nan = (
        np.zeros(a.shape, bool)
        if a.dtype.kind in "iub"
        else np.isnan(a.astype("f8")) & np.isnan(b.astype("f8"))
    )
    return (a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")) & ~nan


@pytest.mark.parametrize("d", [*FLOATS, *INTS, "uint16", "uint32", "uint64", "bool"])
@pytest.mark.parametrize("name", sorted(EXACT & set(EMITTERS)))
def test_exact_atoms_have_numpys_bits(name, d):
    """For any operands: so a kernel may begin with NumPy."""
    root, count = expression(name), OPERANDS.get(name, 1)
    arrays = [_any_bits(d, 6000, seed) for seed in range(count)]
    env = dict(zip("xyz", arrays, strict=False))
    if (name in DIVISIONS and d not in FLOATS) or (d == "bool" and name in ("sub", "neg", "shift_left")):
        return  # on NumPy, or not an op
    try:
        out = evaluate((root,), {n: a[:1] for n, a in env.items()}, d)[0].dtype
    except TypeError:  # bits of floats
        return
    out = d if d in ("float16", "bfloat16") and out == np.float32 else dt.from_numpy_dtype(out).name
    kernel = Pointwise((root,), tuple((n, d) for n in env), (out,))
    assert kernel.exact and kernel.compile_now()
    assert not _other_bits(kernel.fn(*arrays), kernel.reference(*arrays)).any()
    turned = [np.repeat(a, 2)[::2] for a in arrays]
    assert not _other_bits(kernel.fn(*turned), kernel.reference(*turned)).any()


@pytest.mark.parametrize("source", [*FLOATS, *INTS, "uint16", "uint32", "uint64", "bool"])
def test_exact_conversions_have_numpys_bits(source):
    a = _any_bits(source, 6000, 0)
    for to in (*FLOATS, *INTS, "uint16", "uint32", "uint64", "bool"):
        kernel = Pointwise((X,), (("x", source),), (to,))
        assert kernel.compile_now()
        if kernel.exact:
            assert not _other_bits(kernel.fn(a), kernel.reference(a)).any(), to


def test_which_atoms_numpy_computes_alone():
    assert set(ATOMS) - set(EMITTERS) - set(SPECIAL) - EXACT == NUMPY_ALONE
    assert not {"exp", "pow", "fma", "tanh", "reduce", "at", "fetch"} & EXACT


def test_lgamma_of_one_is_no_negative_zero() -> None:
    """Short and long, dense and strided."""
    for x in (torch.ones(3), torch.ones(100), torch.ones(20, 2)[:, 0], torch.full((9,), 2.0)):
        found = torch.lgamma(x)
        assert not found.any() and not torch.signbit(found).any()
