"""Maxima of windows, and where they are."""

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight._engine.ops.nn import pooling
from rushlight._engine.ops.nn.pooling import _max_pool, _spread

rng = np.random.default_rng(5)


@pytest.fixture(params=["machine code", "NumPy"])
def way(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(pooling, "service", lambda *_: lambda *_: None)


def test_sums_at_places(way):
    g, places = rng.standard_normal((2, 3, 50)), rng.integers(0, 7, (2, 3, 50))
    expected = np.zeros((2, 3, 7))
    for at in np.ndindex(g.shape):
        expected[*at[:2], places[at]] += g[at]
    np.testing.assert_allclose(_spread.body(g, places, 7), expected, rtol=1e-12)


@pytest.mark.parametrize("fill", [None, np.nan, -np.inf])
def test_maxima_are_found_where_they_first_are(fill, way):
    a = rng.integers(-2, 3, (2, 3, 7, 6)).astype(float)
    if fill is not None:
        a[rng.random(a.shape) < 0.3] = fill
    values, places = _max_pool.body(a, (3, 2), (2, 1), (1, 1), (1, 1), (4, 7))
    flat = a.reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, places.reshape(2, 3, -1), 2).reshape(values.shape), values
    )
    for n, c, i, j in np.ndindex(values.shape):
        rows, columns = range(max(2 * i - 1, 0), min(2 * i + 2, 7)), range(max(j - 1, 0), min(j + 1, 6))
        window = [(a[n, c, r, s], r * 6 + s) for r in rows for s in columns]
        holes = [p for v, p in window if np.isnan(v)]
        top = max((v for v, _ in window if not np.isnan(v)), default=np.nan)
        expected = holes[-1] if holes else next(p for v, p in window if v == top)
        assert places[n, c, i, j] == expected


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_layouts_and_narrow_floats_agree(dtype, kernel, stride, padding):
    x = torch.randn(2, 5, 9, 8).to(dtype)
    x[0, 0, 1, 1] = float("nan")
    wide = x.float().clone().requires_grad_()
    found, places = F.max_pool2d(wide, kernel, stride, padding, return_indices=True)
    found.nansum().backward()
    for order in (torch.contiguous_format, torch.channels_last):
        given = x.clone(memory_format=order).requires_grad_()
        again, where = F.max_pool2d(given, kernel, stride, padding, return_indices=True)
        assert again.dtype is dtype and again.is_contiguous(memory_format=order)
        assert torch.equal(again.float().nan_to_num(7), found.nan_to_num(7)) and torch.equal(where, places)
        again.nansum().backward()
        assert torch.equal(given.grad.float(), wide.grad) and given.grad.is_contiguous(memory_format=order)


def test_images_of_three_dims_without_a_batch_keep_channels_last():
    x = torch.randn(1, 6, 8, 9, 7).contiguous(memory_format=torch.channels_last_3d)[0]
    for found in (*F.max_pool3d(x, 2, return_indices=True), F.max_pool3d(x, 2)):
        assert found.unsqueeze(0).is_contiguous(memory_format=torch.channels_last_3d)
    assert torch.equal(F.max_pool3d(x, 2), F.max_pool3d(x.contiguous(), 2))


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool1d"])
def test_results_without_elements_have_no_gradient(name):
    x = (
        torch.randn(1, 2, 3, 4, requires_grad=True)
        if "2d" in name
        else torch.randn(1, 2, 3, requires_grad=True)
    )
    found = getattr(F, name)(x, 0)
    assert found.numel() == 0
    with pytest.raises(RuntimeError, match="2d_backward.*non-zero size for non-batch dimensions"):
        found.sum().backward()
