"""Kernels of every kind equal their NumPy meaning: layouts, extents, dtypes, thread counts."""

import copy
import math

import ml_dtypes
import numpy as np
import pytest

from rushlight._engine.core import dtype as dt
from rushlight._engine.kernels.loops.columns import columns
from rushlight._engine.kernels.loops.full_reductions import CHUNK, full
from rushlight._engine.kernels.loops.multi_tensor import MultiTensorUpdate
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.moves.scatter import add_rows
from rushlight._engine.kernels.runtime import parallel
from rushlight._engine.kernels.runtime.tiers import Tiered
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.ops.row_expressions import at, extent, iota, reduce_

pytestmark = pytest.mark.usefixtures("llvm")
FLOATS = ("float32", "float64", "float16", "bfloat16")
TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
X, Y, T, G, W, B = (symbol(n) for n in "xytgwb")
GELU = X * 0.5 * (1 + m.erf(X * math.sqrt(0.5)))
rng = np.random.default_rng(0)


def array(shape, d, scale=1.0):
    return np.asarray(rng.normal(size=shape) * scale).astype(dt.BY_NAME[d].np)


def assert_near(a, b, d, atol=None):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(
        a.astype(np.float64),
        b.astype(np.float64),
        rtol=TOLERANCE[d],
        atol=TOLERANCE[d] if atol is None else atol,
    )


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.fixture
def threads():
    before = parallel.get_num_threads()
    yield parallel.set_num_threads
    parallel.set_num_threads(before)


# --- pointwise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (7,), (16,), (33,), (300,), (5, 17), (3, 1, 70)])
def test_pointwise_layouts(d, shape):
    kernel = pointwise((GELU + Y, m.gt(X, Y)), (("x", d), ("y", d)), (d, "bool"))
    assert kernel.compile_now()
    x, y = array(shape, d), array(shape, d)
    layouts = [
        (x, y),
        (x, y[..., ::-1] if y.ndim else y),
        (x.T, y.T),
        (x, array((), d)),
        (array((), d), y),
        (np.repeat(x, 2, -1)[..., ::2] if x.ndim else x, y),
    ]
    if len(shape) > 1:
        layouts += [(x, y[:1]), (x[..., :1], y)]
    for arrays in layouts:
        for a, b in zip(kernel(*arrays), kernel.reference(*arrays), strict=True):
            if a.dtype == bool:
                np.testing.assert_array_equal(a, b)
            else:
                assert_near(np.asarray(a), np.asarray(b), d)


def test_results_do_not_depend_on_layout():
    kernel = pointwise((m.exp(X),), (("x", "float32"),), ("float32",))
    assert kernel.compile_now()
    x = array((1000,), "float32")
    whole = kernel(x)
    spread = np.zeros(3000, "float32")
    spread[::3] = x
    assert np.array_equal(kernel(spread[::3]), whole)
    assert np.array_equal(np.array([kernel(x[i : i + 1])[0] for i in range(0, 1000, 37)]), whole[::37])


def test_out_and_in_place():
    kernel = pointwise((X + Y,), (("x", "float32"), ("y", "float32")), ("float32",))
    assert kernel.compile_now()
    x, y = array((100,), "float32"), array((100,), "float32")
    expected = x + y
    target = np.empty(200, "float32")[::2]
    assert kernel(x, y, out=target) is target
    np.testing.assert_array_equal(target, expected)
    kernel(x, y, out=x)
    np.testing.assert_array_equal(x, expected)
    z = array((101,), "float32")
    expected = z[:-1] + z[1:]
    np.testing.assert_array_equal(kernel(z[:-1], z[1:], out=z[1:]), expected)


def test_no_floating_point_warnings(recwarn):
    kernel = pointwise((m.log(X) / Y,), (("x", "float32"), ("y", "float32")), ("float32",))
    assert kernel.compile_now()
    bad = np.array([[0, -1, np.nan, np.inf, 3e38]], "float32")
    kernel(bad, np.zeros((3, 1), "float32"))
    kernel(bad.T, np.zeros((1, 3), "float32"))
    assert not recwarn.list


def test_mixed_dtypes():
    kernel = pointwise(
        (m.where(X, Y, 0) + m.cast(T, arg="float32"),),
        (("x", "bool"), ("y", "bfloat16"), ("t", "int64")),
        ("float32",),
    )
    assert kernel.compile_now()
    x, y, t = rng.integers(0, 2, 50).astype(bool), array((50,), "bfloat16"), np.arange(50)
    np.testing.assert_array_equal(kernel(x, y, t), kernel.reference(x, y, t))


@pytest.mark.parametrize("shape", [(1 << 18,), (700, 400), (3, 1 << 17)])
def test_threads_give_the_same_bits(threads, shape):
    kernel = pointwise((GELU * Y,), (("x", "float32"), ("y", "float32")), ("float32",))
    assert kernel.compile_now()
    x, y = array(shape, "float32"), array(shape[-1:], "float32")
    expected = kernel(x, y)
    for count in (1, 2, 3):
        threads(count)
        assert np.array_equal(kernel.large(x, y), expected)
        out = np.empty(shape, "float32")
        kernel.large(x, y, out=out)
        assert np.array_equal(out, expected)
        again = x.copy()
        kernel.large(again, y, out=again)
        assert np.array_equal(again, expected)


def test_incompatible_shapes_are_refused():
    kernel = pointwise((X + Y,), (("x", "float32"), ("y", "float32")), ("float32",))
    for _ in range(2):
        with pytest.raises(ValueError):
            kernel(np.ones(3, "float32"), np.ones(4, "float32"))
        with pytest.raises(ValueError):
            kernel.large(np.ones(1 << 18, "float32"), np.ones(4, "float32"))
        assert kernel.compile_now()


# --- rows -----------------------------------------------------------------------------------------

PEAK = reduce_("max", X)
E = m.exp(X - PEAK)
MEAN = reduce_("add", X) / extent()
RSTD = m.rsqrt(reduce_("add", (X - MEAN) * (X - MEAN)) / extent() + 1e-5)
ROWS = {
    "softmax": ((E / reduce_("add", E),), "v", ""),
    "log_softmax": ((X - PEAK - m.log(reduce_("add", E)),), "v", ""),
    "layer_norm": (((X - MEAN) * RSTD * W + B, MEAN, RSTD), "vss", "wb"),
    "cross_entropy": ((m.where(m.eq(T, -100), 0, m.log(reduce_("add", E)) + PEAK - at(X, T)),), "s", "t"),
    "mixed_index": ((m.where(m.ne(T, -100), PEAK - at(X, m.where(m.ne(T, -100), T, 0)), 0), PEAK), "ss", "t"),
    "cross_entropy_gradient": ((G * (E / reduce_("add", E) - m.where(m.eq(iota(), T), 1, 0)),), "v", "tg"),
    "several": (
        (reduce_("max", X), reduce_("min", X), reduce_("mul", X * 0.1 + 1), reduce_("add", m.abs(X))),
        "ssss",
        "",
    ),
}


def row_kernel(name, d):
    outputs, kinds, extra = ROWS[name]
    roles = {
        "w": ("w", d, "vector"),
        "b": ("b", d, "vector"),
        "t": ("t", "int64", "scalar"),
        "g": ("g", d, "scalar"),
    }
    return rows(outputs, (("x", d, "vector"), *(roles[e] for e in extra)), (d,) * len(kinds))


def row_arrays(name, shape, d):
    n = shape[-1]
    made = {
        "w": array((n,), d),
        "b": array((n,), d),
        "g": array(shape[:-1], d),
        "t": rng.integers(0, max(n, 1), shape[:-1]),
    }
    if name in ("cross_entropy", "mixed_index") and made["t"].size:
        made["t"].reshape(-1)[0] = -100
    return [array(shape, d, 2), *(made[e] for e in ROWS[name][2])]


@pytest.mark.parametrize("d", FLOATS)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, d):
    kernel = row_kernel(name, d)
    assert kernel.compile_now()
    for shape in [(1, 1), (3, 5), (4, 16), (2, 3, 100), (2, 4100), (40,), (0, 3)]:
        arrays = row_arrays(name, shape, d)
        layouts = [arrays]
        if len(shape) > 1:
            layouts.append([np.repeat(a, 2, -1)[..., ::2] if a.ndim > 1 else a for a in arrays])
            layouts.append([np.asfortranarray(a) for a in arrays])
        for given in layouts:
            for a, b in zip(as_tuple(kernel(*given)), as_tuple(kernel.reference(*given)), strict=True):
                assert_near(np.asarray(a), np.asarray(b), d, atol=10 * TOLERANCE[d])


def test_row_logic_and_integers():
    kernel = rows(
        (reduce_("any", m.gt(X, 1)), reduce_("all", m.lt(X, 1)), reduce_("add", iota()), iota() * 2),
        (("x", "float32", "vector"),),
        ("bool", "bool", "int64", "int64"),
    )
    assert kernel.compile_now()
    for n in (0, 1, 5, 16, 5000):
        x = array((3, n), "float32", 0.3)
        for a, b in zip(kernel(x), kernel.reference(x), strict=True):
            np.testing.assert_array_equal(a, b)


def test_extremes_keep_nan():
    kernel = rows(
        (reduce_("max", X), reduce_("min", X)), (("x", "float32", "vector"),), ("float32", "float32")
    )
    assert kernel.compile_now()
    for position in (0, 3, 17, 40):
        x = np.zeros((1, 41), "float32")
        x[0, position] = np.nan
        assert all(np.isnan(r).all() for r in kernel(x))


@pytest.mark.parametrize("name", ROWS)
def test_rows_over_threads_give_the_same_bits(threads, name):
    kernel = row_kernel(name, "float32")
    assert kernel.compile_now()
    arrays = row_arrays(name, (70, 333), "float32")
    threads(1)
    expected = as_tuple(kernel(*arrays))
    for count in (1, 2, 5):
        threads(count)
        for a, b in zip(as_tuple(kernel.large(*arrays)), expected, strict=True):
            assert np.array_equal(a, b)


def test_sums_are_as_accurate_as_pairwise_ones():
    kernel = rows((reduce_("add", X),), (("x", "float32", "vector"),), ("float32",))
    assert kernel.compile_now()
    x = rng.random((1, 1 << 20)).astype("float32")
    exact = math.fsum(x[0].astype(np.float64))
    assert abs(float(kernel(x)[0]) - exact) / exact < 2e-7


# --- columns, full reductions, scatter ------------------------------------------------------------


@pytest.mark.parametrize("d", FLOATS)
def test_columns(threads, d):
    mean, rstd = symbol("mean"), symbol("rstd")
    kernel = columns(
        (G * ((X - mean) * rstd), G * W),
        (
            ("w", d, "percol"),
            ("g", d, "matrix"),
            ("x", d, "matrix"),
            ("mean", "float32", "perrow"),
            ("rstd", "float32", "perrow"),
        ),
        (d, d),
    )
    assert kernel.compile_now()
    for rows_, width in [(3, 5), (130, 33), (2100, 20), (300, 1500), (0, 4)]:
        arrays = [
            array((width,), d),
            array((rows_, width), d),
            array((rows_, width), d),
            array((rows_,), "float32"),
            array((rows_,), "float32"),
        ]
        for given in (arrays, [np.asfortranarray(a) for a in arrays]):
            expected = kernel(*given)
            for a, b in zip(expected, kernel.reference(*given), strict=True):
                assert_near(a, b, d, atol=TOLERANCE[d] * 20 * max(rows_, 1) ** 0.5)
            bits = []
            for count in (2, 3):
                threads(count)
                bits.append(kernel.large(*given))
            for a, b in zip(*bits, strict=True):
                assert np.array_equal(a, b)


def test_columns_of_integers():
    kernel = columns((G,), (("g", "int32", "matrix"),), ("int64",))
    assert kernel.compile_now()
    g = rng.integers(-100, 100, (77, 9)).astype(np.int32)
    np.testing.assert_array_equal(kernel(g), g.sum(0))


def test_few_chunks_are_added_in_numpys_order():
    reduce = full("add", symbol("x"), (("x", "float32"),), "float32")
    rng = np.random.default_rng(0)
    for count in range(2, 10):
        for scale in (1.0, 1e30, 3e38, np.inf, 0.0):
            parts = (rng.standard_normal(count) * 10.0 ** rng.integers(-5, 6, count)).astype(np.float32)
            with np.errstate(all="ignore"):
                parts = np.float32(-0.0) * parts if scale == 0 else parts * np.float32(scale)
                wanted = np.asarray(np.add.reduce(parts, None, np.float64), np.float32)
            assert reduce._folded(parts).tobytes() == wanted.tobytes(), (count, scale)


@pytest.mark.parametrize("kind", ["add", "mul", "max", "min", "any", "all"])
def test_full(threads, kind):
    expr = m.gt(X, 4) if kind in ("any", "all") else X * 0.001 + 1
    reduce = full(kind, expr, (("x", "float32"),), "bool" if kind in ("any", "all") else "float32")
    assert reduce.kernel.compile_now()
    ufunc = {
        "add": np.add,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
        "any": np.logical_or,
        "all": np.logical_and,
    }[kind]
    for n in (1, 100, CHUNK, 3 * CHUNK + 17):
        x = array((n,), "float32")
        values = x > 4 if kind in ("any", "all") else x.astype(np.float64) * 0.001 + 1
        results = []
        for count in (1, 2, 3):
            threads(count)
            results.append(reduce(x))
        assert results[0].shape == () and results[0] == results[1] == results[2]
        np.testing.assert_allclose(results[0], ufunc.reduce(values), rtol=2e-6 * n**0.5)


@pytest.mark.parametrize("d", [*FLOATS, "int64", "int8"])
def test_add_rows(threads, d):
    index = rng.integers(0, 50, 400)
    values = array((400, 700), d, 8)
    for count in (1, 2):
        threads(count)
        out = np.zeros((50, 700), values.dtype)
        expected = out.copy()
        add_rows(out, index, values)
        np.add.at(expected, index, values)
        np.testing.assert_array_equal(out, expected)
    wide = np.zeros((50, 1400), values.dtype)
    add_rows(wide[:, ::2], index[::2], values[::2])
    np.add.at(expected := np.zeros((50, 700), values.dtype), index[::2], values[::2])
    np.testing.assert_array_equal(wide[:, ::2], expected)
    before = out.copy()
    add_rows(out, np.array([50, -1]), values[:2])  # no such rows
    np.testing.assert_array_equal(out, before)


# --- many tensors ---------------------------------------------------------------------------------

P, V = symbol("p"), symbol("v")
LR, BETA = symbol("lr"), symbol("beta")
MOVED = V * BETA + G * (1 - BETA)
STEP = MultiTensorUpdate({"p": P - LR * MOVED, "v": MOVED}, ("p", "g", "v"), ("lr", "beta"))


@pytest.mark.parametrize("d", FLOATS)
def test_multi(threads, d):
    shapes = [(10,), (20, 10), (), (0,), (64, 65), (400, 500)]
    for count in (1, 2):
        threads(count)
        given = [tuple(array(s, d) for _ in range(3)) for s in shapes]
        expected = copy.deepcopy(given)
        STEP._by_numpy(expected, (0.1, 0.9))
        kernel = STEP.kernel(given[0][0].dtype)
        assert kernel.compile_now()
        STEP(given, (0.1, 0.9))
        for a, b in zip(given, expected, strict=True):
            for u, v in zip(a, b, strict=True):
                assert_near(np.asarray(u), np.asarray(v), d)


def test_multi_falls_back_for_strided_arrays():
    assert STEP.kernel(np.dtype("float32")).compile_now()
    given = [
        tuple(array((6, 8), "float32")[:, ::2] for _ in range(3)),
        tuple(array((5,), "float32") for _ in range(3)),
    ]
    expected = copy.deepcopy(given)
    STEP._by_numpy(expected, (0.1, 0.9))
    STEP(given, (0.1, 0.9))
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-6)


def test_bfloat16_rounds_to_nearest_even():
    kernel = pointwise((X,), (("x", "float32"),), ("bfloat16",))
    assert kernel.compile_now()
    bits = rng.integers(0, 1 << 32, 20000, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.float32([np.nan, np.inf, -np.inf, 3.4e38])])
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
    found = kernel(x)
    same = found.view(np.uint16) == expected.view(np.uint16)
    assert (same | (np.isnan(found) & np.isnan(expected))).all()


@pytest.mark.parametrize("d", FLOATS)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 10, 17, 33, 40])
@pytest.mark.parametrize("apart", [False, True])
def test_rows_that_are_no_whole_vectors(d, n, apart):
    """They are read where they lie, and nothing behind them is."""
    peak = reduce_("max", X)
    kernel = rows((m.exp(X - peak), reduce_("add", X), peak), (("x", d, "vector"),), (d,) * 3)
    for count in (1, 2, 7, 300):
        room = array((count, n + 5), d)
        x = room[:, :n] if apart else np.ascontiguousarray(room[:, :n])
        room[:, n:] = np.nan
        kernel.compile_now()
        for found, wanted in zip(kernel.fn(x), kernel.reference(x), strict=True):
            np.testing.assert_allclose(
                found.astype("f8"), wanted.astype("f8"), rtol=4 * TOLERANCE[d], atol=8 * TOLERANCE[d]
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 3), (65, 10), (513, 33), (2048, 3), (4099, 20), (30, 1030), (1, 7)])
def test_columns_in_registers_keep_the_bits(dtype, shape):
    """Sums of expressions over columns, as by the loop that goes row by row."""
    scale = symbol("scale")
    kernels = (
        columns((G, G * X), (("g", dtype, "matrix"), ("x", dtype, "percol")), (dtype,) * 2),
        columns(
            (G * ((X - 1) * scale), G),
            (("g", dtype, "matrix"), ("x", dtype, "matrix"), ("scale", dtype, "perrow")),
            (dtype,) * 2,
        ),
        columns((G * X, X), (("g", dtype, "perrow"), ("x", dtype, "matrix")), (dtype,) * 2),
    )
    rng = np.random.default_rng(0)
    for kernel in kernels:
        sizes = {"matrix": shape, "perrow": shape[:1], "percol": shape[1:]}
        arrays = [rng.standard_normal(sizes[role]).astype(dtype) for role in kernel.roles]
        found = kernel._in_registers(tuple(arrays))
        assert found is not None
        for a, b in zip(found(*arrays), Tiered.large(kernel, *arrays), strict=True):
            assert a.tobytes() == b.tobytes()
