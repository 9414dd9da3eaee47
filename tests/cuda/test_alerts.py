"""What PyTorch's CUDA refuses while deterministic algorithms are asked for."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn


@pytest.fixture(autouse=True)
def _switch_off():
    yield
    torch.use_deterministic_algorithms(False)


def leaf(*sizes, device="cuda"):
    return torch.randn(*sizes, device=device, requires_grad=True)


def _ctc(x):
    return F.ctc_loss(x.log_softmax(2), torch.ones(5, 2, dtype=torch.long), (5,) * 5, (2,) * 5)


def resize(mode):
    return lambda x: F.interpolate(x, scale_factor=2, mode=mode)


BACKWARD = {
    "avg_pool3d_backward_cuda": (nn.AvgPool3d(2), 5),
    "adaptive_avg_pool2d_backward_cuda": (nn.AdaptiveAvgPool2d(2), 4),
    "adaptive_avg_pool3d_backward_cuda": (nn.AdaptiveAvgPool3d(2), 5),
    "max_pool3d_with_indices_backward_cuda": (nn.MaxPool3d(2), 5),
    "adaptive_max_pool2d_backward_cuda": (nn.AdaptiveMaxPool2d(2), 4),
    "fractional_max_pool2d_backward_cuda": (nn.FractionalMaxPool2d(2, output_ratio=0.5), 4),
    "fractional_max_pool3d_backward_cuda": (nn.FractionalMaxPool3d(2, output_ratio=0.5), 5),
    "upsample_linear1d_backward_out_cuda": (resize("linear"), 3),
    "upsample_bilinear2d_backward_out_cuda": (resize("bilinear"), 4),
    "upsample_bicubic2d_backward_out_cuda": (resize("bicubic"), 4),
    "upsample_trilinear3d_backward_out_cuda": (resize("trilinear"), 5),
    "reflection_pad1d_backward_out_cuda": (nn.ReflectionPad1d(1), 3),
    "reflection_pad3d_backward_out_cuda": (nn.ReflectionPad3d(1), 5),
    "replication_pad1d_backward_cuda": (nn.ReplicationPad1d(1), 3),
    "replication_pad2d_backward_cuda": (nn.ReplicationPad2d(1), 4),
    "replication_pad3d_backward_cuda": (nn.ReplicationPad3d(1), 5),
    "ctc_loss_backward_gpu": (_ctc, 3),
}
OTHER_WAY = ("replication", "max_pool3d_with", "upsample_bilinear", "upsample_trilinear")


@pytest.mark.parametrize("name", BACKWARD)
def test_a_backward_pass_is_refused(name):
    function, dims = BACKWARD[name]
    found = {device: function(leaf(*(5,) * dims, device=device)).sum() for device in ("cpu", "cuda")}
    found["cuda"].backward(retain_graph=True)
    torch.use_deterministic_algorithms(True)
    found["cpu"].backward()
    with pytest.raises(RuntimeError, match=f"^{name} does not have a deterministic implementation, but"):
        found["cuda"].backward(retain_graph=True)
    again = function(leaf(*(5,) * dims)).sum()  # PyTorch takes another way for some
    if name.startswith(OTHER_WAY):
        again.backward()
    else:
        with pytest.raises(RuntimeError, match=name):
            again.backward()
    torch.use_deterministic_algorithms(True, warn_only=True)
    for _ in range(2):
        with pytest.warns(UserWarning, match=name):
            found["cuda"].backward(retain_graph=True)
    torch.use_deterministic_algorithms(False)
    found["cuda"].backward()


def test_unbatched_pools_are_told_apart():
    for n in (2, 3):
        found = getattr(nn, f"AdaptiveAvgPool{n}d")(2)(leaf(2, *(4,) * n))
        assert found.grad_fn.name() == f"AdaptiveAvgPool{n}DBackward0"


def test_gradients_of_samples_are_refused():
    for dims, name in ((2, "grid_sampler_2d_backward_cuda"), (3, "grid_sampler_3d_backward_cuda")):
        grid = torch.rand(1, *(3,) * dims, dims, device="cuda")
        found = F.grid_sample(leaf(1, 1, *(4,) * dims), grid, align_corners=False)
        torch.use_deterministic_algorithms(True)
        with pytest.raises(RuntimeError, match=name):
            found.sum().backward()
        torch.use_deterministic_algorithms(False)


def _planes(function):
    return lambda device: function(
        torch.randn(2, 3, 4, 4, device=device), torch.ones(2, 4, 4, dtype=torch.long, device=device)
    )


def _long(*values, device):
    return torch.tensor(values, device=device)


CALLS = {
    "nll_loss2d_forward_out_cuda_template": (
        _planes(F.nll_loss),
        _planes(F.cross_entropy),
        _planes(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1)),
    ),
    "_bincount_cuda": (lambda d: _long(1, 2, device=d).bincount(torch.ones(2, device=d)),),
    "_histc_cuda with floating point input": (lambda d: torch.rand(4, device=d).histc(),),
    "median CUDA with indices output": (
        lambda d: torch.rand(4, device=d).median(0),
        lambda d: torch.rand(4, device=d).nanmedian(0),
    ),
    "put_": (lambda d: torch.zeros(4, device=d).put_(_long(1, device=d), torch.ones(1, device=d), True),),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused(name):
    for function in CALLS[name]:
        function("cuda")
        torch.use_deterministic_algorithms(True)
        function("cpu")
        for _ in range(4):
            with pytest.raises(RuntimeError, match=f"^{name} does not have"):
                function("cuda")
        torch.use_deterministic_algorithms(False)
        function("cuda")


def test_what_is_not_left_to_chance_runs():
    torch.use_deterministic_algorithms(True)
    F.cross_entropy(leaf(2, 3), torch.ones(2, dtype=torch.long, device="cuda")).backward()
    _planes(lambda x, t: F.nll_loss(x, t, reduction="none"))("cuda")
    _long(1, 2, device="cuda").bincount()
    torch.rand(4, device="cuda").median()
    leaf(4).cumsum(0).sum().backward()
    nn.ReflectionPad2d(1)(leaf(1, 3, 4, 4)).sum().backward()


def test_streams_are_kept_beside():
    torch.use_deterministic_algorithms(True)
    x = leaf(4)
    with torch.cuda.stream(torch.cuda.Stream()):
        y = (x * 2).sum()
    y.backward()
    torch.cuda.synchronize()
    assert x.grad.tolist() == [2.0] * 4


def test_putting_is_refused_either_way():
    torch.use_deterministic_algorithms(True)
    for accumulate in (False, True):
        with pytest.raises(RuntimeError, match="^put_ does not have"):
            torch.zeros(4, device="cuda").put_(
                _long(1, device="cuda"), torch.ones(1, device="cuda"), accumulate
            )
