"""What is not finite stays in the results that read it: resampling and means of uneven windows."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest

import rushlight as torch
from rushlight.nn import functional as F

# By name: a function of (1, 1, 9), and which of its results read the element in place 4 (PyTorch 2.13's).
RESAMPLED: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], list[int]]] = {
    "linear": (lambda x: F.interpolate(x, size=5, mode="linear", align_corners=False), [2]),
    "area": (lambda x: F.interpolate(x, size=4, mode="area"), [1, 2]),
    "mean": (lambda x: F.adaptive_avg_pool1d(x, 4), [1, 2]),
}


@pytest.mark.parametrize("value", [inf, -inf, nan])
@pytest.mark.parametrize("name", RESAMPLED)
def test_one_element_reaches_what_reads_it(name: str, value: float) -> None:
    function, reached = RESAMPLED[name]
    x = torch.arange(9.0).reshape(1, 1, 9)
    plain = function(x)
    x[0, 0, 4] = value
    found = function(x)
    assert (~found.isfinite()).nonzero()[:, 2].tolist() == reached
    others = [i for i in range(plain.numel()) if i not in reached]
    assert torch.allclose(found[0, 0, others], plain[0, 0, others])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_planes(mode: str, channels_last: bool) -> None:
    x = torch.randn(1, 3, 8, 8)
    x[0, 1, 2, 2] = nan
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    found = F.interpolate(x, size=(16, 16), mode=mode)
    assert not found[0, 1].isfinite().all()
    assert found[0, [0, 2]].isfinite().all()
    assert found[0, 1, 10:].isfinite().all()
    assert found[0, 1, :, 10:].isfinite().all()


@pytest.mark.parametrize("name", RESAMPLED)
def test_gradients(name: str) -> None:
    function, _ = RESAMPLED[name]
    x = torch.randn(1, 1, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)
    y = function(x)
    grad = torch.ones_like(y)
    grad[0, 0, 0] = inf
    y.backward(grad)
    assert x.grad[0, 0, 5:].isfinite().all()
    assert not x.grad[0, 0, 0].isfinite()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.uint8])
@pytest.mark.parametrize("times", [2, 3, 7])
def test_rows_of_nearest_elements_repeat(times, dtype):
    x = (torch.rand(2, 3, 5, 6) * 200).to(dtype)
    wanted = x.repeat_interleave(times, 2).repeat_interleave(times, 3)
    for given in (x, x.transpose(0, 1).contiguous().transpose(0, 1)):
        for _ in range(3):
            found = torch.nn.functional.interpolate(given, scale_factor=times)
            assert found.equal(wanted)
            assert found.is_contiguous()
