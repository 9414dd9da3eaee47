"""Calls of few elements by loops alone give the bits of NumPy's calls."""

import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.runtime import native, small_calls, tiers
from rushlight._engine.ops.expressions import m, symbol
from rushlight._engine.ops.row_expressions import reduce_

X, Y = symbol("x"), symbol("y")
pytestmark = pytest.mark.skipif(not target.available(), reason="no machine code")


def same(found, expected):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(
        found.view(np.uint8) if found.ndim else found.tobytes(),
        expected.view(np.uint8) if found.ndim else expected.tobytes(),
    )


@pytest.mark.parametrize("of", "fdeqi?")
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_or", "logical_and"])
def test_reductions(name, of):
    native.runtime_address("rl_call")
    function, rng, found = getattr(np, name), np.random.default_rng(0), 0
    for shape in ((4, 4), (7,), (1, 9), (3, 1, 5), (2, 3, 4), (33, 5), (5, 130), (1,), ()):
        for k, keepdim in itertools.product(range(1, len(shape) + 1), (False, True)):
            for axes in itertools.combinations(range(len(shape)), k):
                a = (
                    rng.choice([0.0, -0.0, 1.5, -2.5, np.inf, np.nan, 1e-3, 7.0], shape)
                    if of in "fde"
                    else (rng.integers(-3, 4, shape))
                )
                a = np.ascontiguousarray(a.astype(of))
                run = small_calls.reduction(function, a, axes, keepdim)
                if run is not None:
                    found += 1
                    with np.errstate(all="ignore"):
                        same(run(a), np.asarray(function.reduce(a, axes, a.dtype, None, keepdim)))
    assert found or (name.startswith("logical") and of != "?")


@pytest.mark.parametrize("of", "fd")
@pytest.mark.parametrize("shape", [(4, 2, 16, 2, 16), (2, 30, 2, 40), (20, 30, 40), (2, 3, 4, 5, 6, 7)])
def test_sums_of_short_rows_apart(shape, of):
    native.runtime_address("rl_call")
    rng, found = np.random.default_rng(0), 0
    numbers = (
        rng.standard_normal(shape),
        rng.choice([0.0, -0.0, np.inf, np.nan, 1e-30], shape),
        -0.0 * np.ones(shape),
    )
    for k, keepdim in itertools.product(range(1, len(shape)), (False, True)):
        for axes in itertools.combinations(range(len(shape)), k):
            run = small_calls.sums(np.empty(shape, of), axes, keepdim)
            for a in numbers if run is not None else ():
                a, found = a.astype(of), found + 1
                with np.errstate(all="ignore"):
                    same(run(a), np.add.reduce(a, axes, None, None, keepdim))
    assert found


def test_sums_wait_for_machine_code(monkeypatch):
    a = np.random.default_rng(0).standard_normal((4, 2, 16, 2, 16))
    native.runtime_address("rl_call")
    with monkeypatch.context() as patched:
        patched.setattr(native, "loaded", lambda: False)
        run = small_calls.sums(a, (2, 4), False)
        same(run(a), a.sum((2, 4)))
    for _ in range(2):
        same(run(a), a.sum((2, 4)))


def few(kernel, arrays, results):
    """What calls a kernel on few elements; None where NumPy would be."""
    if not small_calls.fits(kernel, arrays, results):
        return None
    apart = [np.empty(a.shape, a.dtype) for a in arrays]
    places = [(a, number, 0) for number, a in enumerate([*apart, *results])]
    return small_calls.joined(small_calls.of_kernel(kernel, apart, results), places)


def test_kernels():
    made = [
        pointwise((m.exp(X) * Y,), (("x", "float32"), ("y", "float32")), ("float32",)),
        rows((X / reduce_("add", X), reduce_("max", X)), (("x", "float32", "vector"),), ("float32",) * 2),
    ]
    rng = np.random.default_rng(1)
    for kernel in made:
        assert kernel.compile_now()
        for shapes in (
            ((4, 4), (4, 4)),
            ((3, 5), (5,)),
            ((3, 1), (3, 4)),
            ((7,), ()),
            ((2, 3, 4), (1, 4)),
            ((), ()),
        ):
            arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes[: len(kernel.inputs)]]
            if not arrays[0].ndim and True in kernel.core:
                continue
            expected = kernel.fn(*arrays)
            expected = expected if isinstance(expected, tuple) else (expected,)
            results = [np.empty(np.shape(e), np.float32) for e in expected]
            run = few(kernel, arrays, results)
            assert run(*arrays, *results) is True
            for r, e in zip(results, expected, strict=True):
                same(r, np.asarray(e))
        assert few(kernel, [np.ones((4, 4), np.float32).T[1:]] * len(kernel.inputs), results) is None
        assert few(kernel, [np.ones((4, 4))] * len(kernel.inputs), results) is None


def test_plans_become_loops_when_kernels_are_ready():
    x = torch.randn(5, 6)
    kept = torch.log_softmax(x * 1.5, 1)
    for _ in range(200):
        found = torch.log_softmax(x * 1.5, 1)
    tiers.wait()
    np.testing.assert_allclose(found.numpy(), kept.numpy(), rtol=1e-5)
    before = torch.log_softmax(x * 1.5, 1)
    for _ in range(3):
        assert torch.equal(torch.log_softmax(x * 1.5, 1), before)
    variance, center = torch.var_mean(x, 1, keepdim=True)
    assert variance.shape == center.shape == (5, 1)
    assert torch.equal(x.log_softmax(1).t().contiguous(), x.t().contiguous().log_softmax(0))
