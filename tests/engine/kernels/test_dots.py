"""A row times a matrix is read once: the same numbers as the ordinary product, in every floating dtype."""

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.products.gemv import dots

pytest.importorskip("llvmlite")
rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("k", "n"), [(1, 5), (7, 3), (300, 1), (64, 1000), (513, 700)])
@pytest.mark.parametrize("dense", ["columns", "rows", "parts of rows"])
def test_dots_are_products(dtype, k, n, dense):
    a, w = rng.standard_normal((1, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype).T
    if dense != "columns":
        w = np.repeat(w, 2, 1)[:, :n] if dense == "parts of rows" else np.ascontiguousarray(w)
    found = dots(a, w)
    assert found is not None and found.shape == (1, n)
    assert found.dtype == (np.float64 if dtype is np.float64 else np.float32)
    expected = a.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4 if dtype is not np.float64 else 1e-12)


def test_other_layouts_are_left_alone():
    a, w = np.ones((1, 4), np.float32), np.ones((8, 12), np.float32)[::2, ::2]
    assert dots(a, w) is None and dots(np.ones((2, 4), np.float32), np.ones((6, 4), np.float32).T) is None
    assert dots(a, np.ones((6, 4)).T) is None


def test_a_linear_layer_of_two_byte_floats_rounds_once():
    layer, x = torch.nn.Linear(600, 700).to(torch.bfloat16), torch.randn(1, 600, dtype=torch.bfloat16)
    exact = torch.nn.functional.linear(x.double(), layer.weight.double(), layer.bias.double())
    error = (layer(x).double() - exact).abs() / exact.abs().clamp(min=0.05)
    assert error.max() <= 2**-8
