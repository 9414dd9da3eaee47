"""Large products on tiles: any layout and dtype, and bits that depend on nothing but a row and a column."""

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.products import gemm
from rushlight._engine.kernels.runtime import parallel

pytestmark = pytest.mark.usefixtures("llvm")
rng = np.random.default_rng(0)
SIZES = [(2, 70, 2), (1, 64, 100), (33, 64, 70), (128, 96, 97), (5, 31, 200), (200, 31, 5), (97, 130, 131)]
DTYPES = {"float32": np.float32, "float64": np.float64, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def matrix(rows, columns, dtype, turned, batch=()):
    shape = (columns, rows) if turned else (rows, columns)
    made = rng.standard_normal((*batch, *shape)).astype(dtype)
    return made.swapaxes(-1, -2) if turned else made


def close(found, a, b):
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    rounding = 1e-13 if a.dtype == np.float64 else 1e-5
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rounding * np.sqrt(a.shape[-1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "deep", "columns"), SIZES)
@pytest.mark.parametrize("batch", [((), ()), ((3,), (3,)), ((3,), ()), ((), (2, 1)), ((2, 1), (1, 3))])
def test_products(rows, deep, columns, dtype, batch):
    of = DTYPES[dtype]
    for left, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        a, b = matrix(rows, deep, of, left, batch[0]), matrix(deep, columns, of, right, batch[1])
        multiply = gemm.multiplier(a, b)
        if multiply is None:
            assert dtype == "float16" and not target.host().half
            return
        found = multiply(a, b)
        assert found.dtype == (np.float64 if dtype == "float64" else np.float32)
        close(found, a, b)


def test_operands_with_gaps_and_backwards():
    a, b = matrix(60, 80, np.float32, False)[::2, ::-2], matrix(120, 70, np.float32, True)[::3, ::-1]
    close(gemm.multiplier(a, b)(a, b), a, b)


def test_panels_are_made_in_turns_where_they_are_many():
    a, b = matrix(40, 300, np.float32, False), matrix(300, 9000, np.float32, False)
    plan = gemm.planned(a, b)
    assert plan.right <= 1 << 23 and len(plan.call.kept) > 2
    close(gemm.multiplier(a, b)(a, b), a, b)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_row_depends_on_nothing_but_itself(dtype):
    a, b = matrix(300, 200, DTYPES[dtype], False), matrix(200, 130, DTYPES[dtype], True)
    whole = gemm.multiplier(a, b)(a, b)
    for rows in (slice(0, 20), slice(7, 70), slice(100, 300)):
        part = np.ascontiguousarray(a[rows])
        assert gemm.multiplier(part, b)(part, b).tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize(("left", "right"), [((517, 301), (301, 259)), ((130, 700), (700, 1001))])
def test_products_have_the_same_bits_for_any_number_of_threads(left, right):
    a, b = rng.standard_normal(left).astype("float32"), rng.standard_normal(right).astype("float32")
    results, before = [], parallel.get_num_threads()
    try:
        for threads in (1, 2, 3, 5):
            parallel.set_num_threads(threads)
            results.append(gemm.multiplier(a, b)(a, b))
    finally:
        parallel.set_num_threads(before)
    assert all(np.array_equal(results[0], r) for r in results[1:])


def test_what_is_not_multiplied_here():
    a = np.ones((64, 64))
    assert gemm.multiplier(a.astype(complex), a.astype(complex)) is None
    assert gemm.multiplier(a.astype(int), a.astype(int)) is None
    assert gemm.multiplier(a, a.astype(np.float32)) is None
    assert gemm.multiplier(a[:0], a) is None


@pytest.mark.parametrize(("m", "n"), [(480, 48), (48, 480)])
def test_the_wider_operand_is_packed_piece_by_piece(m, n, monkeypatch):
    """Where either may be packed as a whole, the one with fewer lines is; pieces do not show in a bit."""
    a, b = (
        np.random.default_rng(0).standard_normal((2000, m)).T,
        np.random.default_rng(1).standard_normal((2000, n)),
    )
    plan = gemm.planned(a, b)
    assert plan is not None
    assert plan.left == 2000 * 48 * 8
    found = gemm.multiplier(a, b)(a, b)
    monkeypatch.setattr(gemm, "_WORKSPACE", 1 << 26)
    assert np.array_equal(found, gemm.multiplier(a, b)(a, b))
    np.testing.assert_allclose(found, a @ b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [3, 700])
def test_a_bias_of_two_bytes_is_rounded_with_the_sum(rows):
    x, w, b = (torch.randn(*shape).bfloat16() for shape in ((rows, 96), (128, 96), (128,)))
    found = torch.nn.functional.linear(x, w, b)
    exact = (x.double() @ w.double().t() + b.double()).bfloat16()
    assert (found == exact).float().mean() > 0.99
    assert found.dtype is torch.bfloat16


@pytest.mark.parametrize(
    ("a", "b"), [((32, 1, 3), (32, 3, 60_001)), ((1, 3), (3, 70_001)), ((3, 2), (2, 40_000))]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_plan_of_a_thin_product_is_short(a, b, dtype):
    of = DTYPES[dtype]
    a, b = (rng.standard_normal(shape).astype(of) for shape in (a, b))
    plan = gemm.planned(a, b)
    if plan is None:
        assert dtype == "float16" and not target.host().half
        return
    assert sum(stage.jobs.size for stage in plan.call.kept) < len(a.reshape(-1, 3)) * 4000
    close(gemm.multiplier(a, b)(a, b), a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_of_a_thin_product_have_the_bits_of_others(dtype, turned):
    a, b = matrix(40, 2700, DTYPES[dtype], False), matrix(2700, 90, DTYPES[dtype], False)
    few = a[1:3].copy(order="F" if turned else "C")
    found = gemm.multiplier(few, b)(few, b)
    assert found.tobytes() == gemm.multiplier(a, b)(a, b)[1:3].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 7), (7, 90_000)), ((300, 1), (1, 1500)), ((5, 2, 3), (5, 3, 20_001)), ((2, 1, 9), (9, 40_000))]
    + [((700, 600), (600, 1)), ((2, 3, 900, 100), (3, 100, 1)), ((1, 3), (4, 3, 30_000))],
)
def test_thin_products(a, b, dtype):
    for gaps in (slice(None), slice(None, None, -1)):
        left, right = (rng.standard_normal(shape).astype(DTYPES[dtype])[..., gaps] for shape in (a, b))
        for x in (left, left.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
            close(gemm.multiplier(x, right)(x, right), x, right)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_deep_product_is_made_in_parts(dtype, turned):
    a, b = (matrix(m, k, DTYPES[dtype], turned, (2,)) for m, k in ((5, 70_002), (70_002, 6)))
    multiply, plan = gemm.multiplier(a, b), gemm.planned(a, b)
    if plan is None:
        assert dtype == "float16" and not target.host().half
        return
    assert plan.left <= 1 << 22 and plan.right <= 1 << 22
    close(multiply(a, b), a, b)
    assert multiply(a, b).tobytes() == multiply(a, b).tobytes()


@pytest.mark.parametrize("batch", [(), (3, 1)])
def test_an_outer_product_is_no_sum(batch):
    a, b = rng.standard_normal((*batch, 700, 1), np.float32), rng.standard_normal((2, 1, 500), np.float32)
    a[..., 0, 0], b[..., 0] = -1, 0
    b = b if batch else b[0]
    for _ in range(3):  # by NumPy, then by machine code
        found = (torch.tensor(a) @ torch.tensor(b)).numpy()
        assert found.flags.c_contiguous and (found == a * b).all()
        assert not np.signbit(found[found == 0]).any()  # as sums that begin with 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("rows", "deep", "columns"), SIZES)
def test_two_byte_products_are_sums_rounded_once(rows, deep, columns, dtype):
    for left, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        a, b = matrix(rows, deep, DTYPES[dtype], left), matrix(deep, columns, DTYPES[dtype], right)
        sums, whole = gemm.multiplier(a, b), gemm.rounded(a, b)
        if sums is None or gemm.fits(a, b):
            assert whole is None
            continue
        found = whole(a, b)
        assert found.dtype == a.dtype
        np.testing.assert_array_equal(found, sums(a, b).astype(a.dtype))


def test_a_product_of_parts_is_not_rounded_on_the_way():
    a = np.ones((2, gemm.DEEP + 2), ml_dtypes.bfloat16)
    assert gemm.rounded(a, a.T) is None
