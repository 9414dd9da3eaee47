"""Dtypes that PyTorch's CUDA kernels take and refuse, where the CPU's differ; sizes and places of new tensors."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F

WHOLE = {
    "mm": (lambda x: x @ x, "addmm_cuda"),
    "linear": (lambda x: F.linear(x, x), "addmm_cuda"),
    "bmm": (lambda x: x[None] @ x[None], "baddbmm_cuda"),
    "mv": (lambda x: x @ x[0], "addmv_impl_cuda"),
    "dot": (lambda x: x[0] @ x[0], "dot"),
    "conv2d": (lambda x: F.conv2d(x[None, None], x[None, None]), "slow_conv2d_cuda"),
    "max_pool2d": (lambda x: F.max_pool2d(x[None, None], 2), "max_pool2d_with_indices_out_cuda_frame"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_products_of_whole_numbers_are_the_cpu_s(name):
    function, kernel = WHOLE[name]
    x = torch.ones(2, 2, dtype=torch.int64)
    function(x)
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Long'"):
        function(x.cuda())
    function(x.cuda().float())


def test_bytes_are_resampled_by_the_cpu_alone():
    image = torch.zeros(1, 3, 4, 4, dtype=torch.uint8)
    assert F.interpolate(image, scale_factor=2, mode="bilinear").dtype is torch.uint8
    with pytest.raises(NotImplementedError, match="not implemented for 'Byte'"):
        F.interpolate(image.cuda(), scale_factor=2, mode="bilinear")
    assert F.interpolate(image.cuda(), scale_factor=2).is_cuda


def test_labels_of_sequences_may_lie_on_the_host():
    logs = torch.randn(6, 2, 4).log_softmax(-1)
    labels = torch.tensor([[1, 2], [1, 3]], dtype=torch.int32)
    found = F.ctc_loss(logs.cuda(), labels, (6, 6), (2, 2))
    torch.testing.assert_close(found.cpu(), F.ctc_loss(logs, labels, (6, 6), (2, 2)))


TAKEN = {
    "histc": lambda: torch.histc(torch.tensor([1, 2, 2, 3], dtype=torch.int32, device="cuda"), 4, 0, 3),
    "abs": lambda: torch.tensor([True, False], device="cuda").abs(),
    "avg_pool3d": lambda: F.avg_pool3d(torch.ones(1, 1, 2, 2, 2, dtype=torch.float16, device="cuda"), 2),
    "nansum": lambda: torch.nansum(torch.ones(2, dtype=torch.complex64, device="cuda")),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken_there_alone(name):
    assert TAKEN[name]().is_cuda


def test_new_tensors_lie_where_they_were_asked_for():
    for _ in range(2):  # as it is learnt, and again
        assert torch.zeros((), device="cuda", dtype=torch.float64).shape == ()
        assert torch.full((), 2.0, device="cuda").item() == 2
    x = torch.ones(2, dtype=torch.int32, device="cuda")
    for made in (x.new(2, 3), x.new([1, 2]), x.new(torch.Size([2])), x.new(x), x.new()):
        assert made.is_cuda and made.dtype is torch.int32
    assert x.new([1, 2]).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="expects device type: cuda but device type: cpu was passed"):
        x.new(2, device="cpu")
    with pytest.raises(TypeError, match="expected a tensor on cuda:0"):
        x.new(torch.ones(2, dtype=torch.int32))


def test_an_operand_of_another_device_is_refused_in_place():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="cuda").add_(torch.ones(2))
