"""Sums of a few rows each, means of windows, running extremes, copies of rows: machine code beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.loops.extremes import running
from rushlight._engine.kernels.moves.copies import copy
from rushlight._engine.kernels.moves.row_sums import along, bags
from rushlight._engine.kernels.products.max_pool import means

F = torch.nn.functional
rng = np.random.default_rng(3)


@pytest.mark.parametrize("inner", [1, 3, 16, 70, 200])
@pytest.mark.parametrize("of", ["float32", "float64"])
def test_sums_along_a_dim(inner: int, of: str) -> None:
    a = rng.standard_normal((3, 6, inner)).astype(of)
    starts, places = np.array([0, 2, 2, 5, 6]), np.array([1, 5, 0, 0, 3, 2])
    weights = rng.standard_normal(6).astype(of)
    wanted = np.zeros((3, 4, inner), of)
    for i in range(4):
        for k in range(starts[i], starts[i + 1]):
            wanted[:, i] += weights[k] * a[:, places[k]]
    found = along(a, 1, starts, places, weights)
    assert found is not None and np.array_equal(found, wanted)  # in the same order, without fused operations
    plain = bags(a[0], starts, places, None)
    assert plain is not None and np.array_equal(plain[1], np.zeros(inner))


@pytest.mark.parametrize("shape", [(2, 5, 40), (40, 3), (3, 4, 33)])
@pytest.mark.parametrize("of", ["float32", "float64", "int64", "int32"])
def test_running_extremes(shape: tuple[int, ...], of: str) -> None:
    a = rng.integers(-9, 9, shape).astype(of)
    for d in range(len(shape)):
        found = running("max", a, d)
        assert found is not None
        values, places = found(a)
        assert np.array_equal(values, np.maximum.accumulate(a, d))
        assert np.array_equal(np.take_along_axis(a, places, d), values)
        later = np.arange(shape[d]).reshape([-1 if i == d else 1 for i in range(len(shape))])
        assert np.array_equal(places, np.maximum.accumulate(np.where(a == values, later, 0), d))


def test_a_nan_stays_in_running_extremes_and_the_latest_is_told() -> None:
    x = torch.tensor([[1.0, float("nan"), 3.0, float("nan"), 5.0]])
    values, places = x.cummax(1)
    assert places.tolist() == [[0, 1, 1, 3, 3]] and values.isnan().tolist() == [[False] + [True] * 4]


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize(("kernel", "stride", "pad"), [((2, 2), (2, 2), (0, 0)), ((3, 2), (2, 1), (1, 1))])
def test_means_of_windows(of: str, kernel: Any, stride: Any, pad: Any) -> None:
    a = rng.standard_normal((2, 3, 18, 40)).astype(of)
    out = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip((18, 40), pad, kernel, stride, strict=True))
    found = means(a, np.full(out, 4.0, of), kernel, stride, pad, out)
    wide = np.pad(a, ((0, 0), (0, 0), *[(p, p) for p in pad]))
    total = np.zeros((2, 3, *out), of)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            ends = [at + s * (o - 1) + 1 for at, s, o in zip((i, j), stride, out, strict=True)]
            total += wide[:, :, i : ends[0] : stride[0], j : ends[1] : stride[1]]
    assert found is not None and np.array_equal(found, total / np.asarray(4, of))


@pytest.mark.parametrize("kernel", [2, 3, (3, 1)])
def test_mean_pools_in_channels_last_are_those_of_rows(kernel: Any) -> None:
    x = torch.randn(2, 33, 9, 8)
    last = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    x.requires_grad_()
    found, again = (F.avg_pool2d(t, kernel, 2, 1 if kernel == 3 else 0) for t in (x, last))
    assert torch.equal(found, again) and again.is_contiguous(memory_format=torch.channels_last)
    for t in (found, again):
        (t * t).sum().backward()
    assert torch.allclose(x.grad, last.grad, atol=1e-7)


def test_reversed_and_short_rows_are_copied() -> None:
    a = rng.standard_normal((40, 30, 32)).astype("f4")
    for source in (a[:, :, ::-1], a[:, ::-1], a.transpose(1, 0, 2), np.broadcast_to(a[:1], a.shape)):
        out = np.empty(source.shape, "f4")
        assert copy(out, source) and np.array_equal(out, source)
    parts = np.empty((40, 30, 64), "f4")
    assert copy(parts[:, :, 16:48], a) and np.array_equal(parts[:, :, 16:48], a)
