"""Convolutions by rows of windows equal those by columns, in all three directions."""
import itertools

import numpy as np
import pytest

from rushlight.ops import convolution, windowrows
from rushlight.ops.pooling import _max_pool

rng = np.random.default_rng(5)
CASES = [c for c in itertools.product((1, 2, 3), (1, 2, 3), (1, 2), (0, 1)) if c[1] > 1 or not c[3]]


@pytest.mark.parametrize(("dims", "kernel", "stride", "padding"), CASES)
def test_both_ways_agree(monkeypatch, dims, kernel, stride, padding):
    space, k = (6, 5, 4)[:dims], (kernel,) * dims
    x, w = rng.standard_normal((3, 8, *space)), rng.standard_normal((9, 8, *k))
    how = (stride,) * dims, (padding,) * dims, (1,) * dims, 1
    found = convolution._convolution.body(x, w, *how)
    g = rng.standard_normal(found.shape)
    calls = [lambda: convolution._convolution.body(x, w, *how),
             lambda: convolution._convolution_input.body(g, w, space, *how),
             lambda: convolution._convolution_weight.body(g, x, k, *how)]
    by_rows = [call() for call in calls]
    monkeypatch.setattr(windowrows, "_MOST", 1)          # one sample at a time
    one_by_one = [call() for call in calls]
    monkeypatch.setattr(windowrows, "suits", lambda *a: False)
    for call, rows, single in zip(calls, by_rows, one_by_one, strict=True):
        expected = call()
        assert rows.flags.c_contiguous and rows.shape == expected.shape
        np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(single, expected, rtol=1e-10, atol=1e-12)


def test_two_byte_floats_keep_their_dtype():
    x, w = rng.standard_normal((2, 8, 5)).astype(np.float16), rng.standard_normal((8, 8, 3)).astype(np.float16)
    assert convolution._convolution.body(x, w, (1,), (1,), (1,), 1).dtype == np.float16


@pytest.mark.parametrize("fill", [None, np.nan, -np.inf])
def test_maxima_are_found_where_they_first_are(fill):
    a = rng.integers(-2, 3, (2, 3, 7, 6)).astype(float)
    if fill is not None:
        a[rng.random(a.shape) < 0.3] = fill
    values, places = _max_pool.body(a, (3, 2), (2, 1), (1, 1), (1, 1), (4, 7))
    flat = a.reshape(2, 3, -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, places.reshape(2, 3, -1), 2).reshape(values.shape),
                                  values)
    for n, c, i, j in np.ndindex(values.shape):
        rows, columns = range(max(2 * i - 1, 0), min(2 * i + 2, 7)), range(max(j - 1, 0), min(j + 1, 6))
        window = [(a[n, c, r, s], r * 6 + s) for r in rows for s in columns]
        holes = [p for v, p in window if np.isnan(v)]
        top = max((v for v, _ in window if not np.isnan(v)), default=np.nan)
        expected = holes[-1] if holes else next(p for v, p in window if v == top)
        assert places[n, c, i, j] == expected
