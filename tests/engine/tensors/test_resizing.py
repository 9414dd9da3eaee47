"""resize_ and resize_as_: sizes that no memory has, memory formats; strides of views that PyTorch says."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("size", [(2, 4, 2**29, 2**29), (8, 8, 2**29, 2**29), (0, 4, 2**61), (2**40, 2**40)])
def test_sizes_that_no_memory_has(size):
    x = torch.ones((), dtype=torch.float64)
    with pytest.raises(RuntimeError, match="overflow"):
        x.resize_(size)
    assert x.shape == () and x.item() == 1


@pytest.mark.parametrize(
    ("given", "strides"),
    [
        (torch.preserve_format, (60, 1, 15, 3)),
        (torch.channels_last, (60, 1, 15, 3)),
        (torch.contiguous_format, (60, 20, 5, 1)),
        (None, (60, 20, 5, 1)),
    ],
)
def test_formats_of_templates(given, strides):
    template = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.ones(120).resize_as_(template, memory_format=given).stride() == strides
    x = torch.ones(3, 2).t()
    assert x.resize_as_(x).stride() == (1, 2)


def test_new_dims_of_size_1_have_the_strides_of_unsqueeze():
    x = torch.ones(1, 5)
    assert x.expand(1, 1, 5).stride() == (5, 5, 1)
    assert x.expand(3, 1, 1, 5).stride() == (0, 5, 5, 1)
    assert x.expand(1, 2, 5).stride() == (0, 0, 1)
    assert torch.tensor(1.0).expand(1, 1).stride() == (0, 0)


@pytest.mark.parametrize("stride", [(1, 1), (3, 1)])
def test_pairs_that_do_not_lie_as_complex_numbers(stride):
    with pytest.raises(RuntimeError, match="stride divisible by 2"):
        torch.view_as_complex(torch.as_strided(torch.ones(9), (2, 2), stride))
