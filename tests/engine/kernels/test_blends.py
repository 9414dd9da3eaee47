"""Planes resampled by machine code: against the same in float64, and in parts."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.moves.blends import blended
from rushlight._engine.kernels.runtime import parallel

pytestmark = pytest.mark.usefixtures("llvm")
rng = np.random.default_rng(3)


def taps(size, out):
    low = rng.integers(0, size, out)
    part = rng.random(out)
    return np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([1 - part, part], 1)


def along(a, axis, places, weights):
    shape = [-1 if d == axis else 1 for d in range(a.ndim)]
    return sum(a.take(places[:, k], axis) * weights[:, k].reshape(shape) for k in (0, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "out"), [((3, 5, 7), (9, 40)), ((2, 3, 16, 1), (1, 33)), ((1, 4), (3, 3))])
def test_blends_of_lines_and_columns(shape, out, dtype):
    a = rng.standard_normal(shape).astype(dtype)
    lines, columns = taps(shape[-2], out[0]), taps(shape[-1], out[1])
    found = blended(a, lines, columns)
    expected = along(along(a.astype("float64"), a.ndim - 1, *columns), a.ndim - 2, *lines)
    assert found.dtype == dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    threads = parallel.get_num_threads()
    try:
        parallel.set_num_threads(3)
        np.testing.assert_array_equal(blended(a, lines, columns), found)
    finally:
        parallel.set_num_threads(threads)
    assert blended(np.asfortranarray(a), lines, columns) is None or a.flags.f_contiguous


@pytest.mark.parametrize("align", [False, True])
def test_large_images_as_small_ones(align):
    """Few planes go by matrices of weights, many by the kernel."""
    x = torch.randn(9, 8, 40, 56, dtype=torch.float64, requires_grad=True)
    whole = torch.nn.functional.interpolate(x, size=(83, 131), mode="bilinear", align_corners=align)
    parts = [
        torch.nn.functional.interpolate(x[i : i + 1], size=(83, 131), mode="bilinear", align_corners=align)
        for i in range(9)
    ]
    torch.testing.assert_close(whole, torch.cat(parts))
    ours, theirs = (torch.autograd.grad(t.square().sum(), x)[0] for t in (whole, torch.cat(parts)))
    torch.testing.assert_close(ours, theirs)
