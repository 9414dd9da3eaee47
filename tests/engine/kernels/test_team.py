"""Work shared out over native threads: large products, reductions, broadcast and strided kernels."""

import threading

import numpy as np
import pytest

from rushlight._engine.kernels.loops.full_reductions import CHUNK, full
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.products import gemm
from rushlight._engine.kernels.runtime import parallel, team
from rushlight._engine.ops.expressions import m, symbol

pytestmark = pytest.mark.usefixtures("llvm")
rng = np.random.default_rng(7)
SHAPES = [
    ((100, 70), (70, 90)),
    ((64, 300), (300, 200)),
    ((3, 64, 50), (3, 50, 40)),
    ((2, 3, 64, 50), (2, 3, 50, 70)),
    ((5, 1, 64, 50), (3, 50, 70)),
    ((1, 300), (300, 1000)),
    ((300, 1), (1, 400)),
    ((1000, 300), (300, 1)),
    ((4, 128, 64), (64, 128)),
]


@pytest.fixture(autouse=True)
def two_threads():
    before = parallel.get_num_threads()
    parallel.set_num_threads(2)
    yield
    parallel.set_num_threads(before)


def layouts(a):
    """The same matrices: contiguous, transposed in memory, with gaps between rows, between items."""
    return [
        a,
        np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
        np.repeat(a, 2, -2)[..., ::2, :],
        np.repeat(a, 2, -1)[..., ::2],
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_of_all_layouts(left, right, dtype):
    a, b = rng.standard_normal(left).astype(dtype), rng.standard_normal(right).astype(dtype)
    expected = np.matmul(a.astype("float64"), b.astype("float64"))
    for x in layouts(a):
        for y in layouts(b):
            found = gemm.multiplier(x, y)(x, y)
            assert found.shape == expected.shape and found.dtype == dtype
            np.testing.assert_allclose(
                found,
                expected,
                rtol=1e-4 if dtype == "float32" else 1e-10,
                atol=2e-4 if dtype == "float32" else 1e-10,
            )


@pytest.mark.parametrize("n", [CHUNK + 1, 7 * CHUNK, 40 * CHUNK + 17])
def test_sums_have_the_same_bits_for_any_number_of_threads(n):
    x = rng.standard_normal(n).astype("float32")
    kernel = full("add", symbol("x"), (("x", "float32"),), "float32")
    assert kernel.kernel.compile_now()
    results = []
    for threads in (1, 2, 3, 8):
        parallel.set_num_threads(threads)
        results.append(kernel(x))
    assert all(r == results[0] for r in results)
    np.testing.assert_allclose(results[0], x.sum(dtype="float64"), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((700, 400), (400,)),
        ((700, 400), (700, 1)),
        ((40, 16, 20, 20), (1, 16, 1, 1)),
        ((300, 1000), (1,)),
        ((5, 3, 40000), (3, 1)),
        ((400, 1, 700), (1, 3, 700)),
    ],
)
def test_broadcast_kernels(left, right):
    kernel = pointwise(
        (symbol("a") * symbol("b") + m.exp(symbol("b")),), (("a", "float32"), ("b", "float32")), ("float32",)
    )
    assert kernel.compile_now()
    a, b = rng.standard_normal(left).astype("float32"), rng.standard_normal(right).astype("float32")
    for x in (a, np.repeat(a, 2, -1)[..., ::2], np.asfortranarray(a)):
        np.testing.assert_allclose(kernel.parallel(x, b), a * b + np.exp(b), rtol=1e-5, atol=1e-5)


def test_an_error_free_team_serves_again_and_again():
    kernel = pointwise((symbol("a") + 1.0,), (("a", "float32"),), ("float32",))
    assert kernel.compile_now()
    x = np.zeros(1 << 18, "float32")
    for _ in range(300):
        x = kernel.parallel(x)
    assert (x == 300).all()
    assert team._Current.team is None or team._Current.team.members >= 1


def test_threads_at_once_get_the_same_bits():
    """Who finds the team at work runs the same parts alone."""
    a, b = (rng.standard_normal((700, 700)).astype(np.float32) for _ in range(2))
    expected, wrong = gemm.multiplier(a, b)(a, b), []

    def work():
        for _ in range(10):
            if not np.array_equal(gemm.multiplier(a, b)(a, b), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
