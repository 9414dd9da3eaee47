"""Running sums and products in machine code have NumPy's bits."""

import numpy as np
import pytest

from rushlight._engine.kernels.loops.scan import scan

SHAPES = [
    (1,),
    (5,),
    (300,),
    (5, 7),
    (3, 4, 33),
    (17, 9),
    (1, 1),
    (9, 64),
    (65, 130),
    (2, 700, 3),
    (130, 1030),
]


@pytest.mark.parametrize(
    ("dtype", "wide"), [("float32", "float64"), ("float64", "float64"), ("float32", "float32")]
)
@pytest.mark.parametrize(("op", "ufunc"), [("add", np.add), ("mul", np.multiply)])
@pytest.mark.parametrize("shape", SHAPES)
def test_totals_are_kept_in_the_wide_precision(shape, op, ufunc, dtype, wide):
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for d in range(len(shape)):
        for along in ("rows", "lines") if d == len(shape) - 1 else ("columns",):
            kernel, out = scan(op, along, dtype, wide), np.full_like(a, 7)
            if not kernel.compile_now():
                pytest.skip("there is no machine code here")
            assert kernel(a, out, d)
            np.testing.assert_array_equal(out, ufunc.accumulate(a, d, dtype=wide).astype(dtype))
