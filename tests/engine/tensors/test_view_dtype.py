"""The same bytes as another dtype: tensors without elements, and strides that do not divide."""

import pytest

import rushlight as torch


def test_tensors_without_elements():
    e = torch.empty(0, 4)
    assert e.view(torch.int32).shape == (0, 4)
    assert e.view(torch.float64).shape == (0, 2)
    assert e.view(torch.int8).shape == (0, 16)
    assert torch.empty(0).view(torch.int16).shape == (0,)


def test_strides_must_divide():
    wide = torch.zeros(4, 6)[:, :4].view(torch.float64)
    assert wide.shape == (4, 2) and wide.stride() == (3, 1)
    for odd in (torch.zeros(4, 5)[:, :4], torch.empty(3, 0)):
        with pytest.raises(RuntimeError, match=r"self.stride\(0\) must be divisible by 2"):
            odd.view(torch.float64)
