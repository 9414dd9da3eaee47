"""make_tensor: PyTorch's values for the same seed, its layouts and errors."""

import pytest

import rushlight as torch
from rushlight.testing import make_tensor


def made(dtype=torch.float32, shape=(2, 3), **options):
    torch.manual_seed(0)
    return make_tensor(shape, dtype=dtype, device="cpu", **options)


@pytest.mark.parametrize(
    ("dtype", "options", "values"),
    [
        (torch.bool, {}, [False, True, True]),
        (torch.uint8, {}, [4, 9, 3]),
        (torch.int64, {}, [6, -5, -9]),
        (torch.int8, {"low": -5.5, "high": 2.5}, [-1, 2, 0]),
        (torch.int16, {"low": -1e30, "high": 1e30}, [-30036, 10799, 9845]),
        (torch.float16, {}, [-0.0673828125, 4.828125, -7.40625]),
        (torch.float32, {"low": 0, "high": 2}, [0.9925131797790527, 1.5364435911178589, 0.17695486545562744]),
        (
            torch.float64,
            {"low": float("-inf"), "high": float("inf")},
            [1.6900221087381283e308, 7.471926870390323e307, -1.460340085961876e307],
        ),
        (torch.complex64, {"low": 0, "high": 1, "shape": 1}, [0.49625658988952637 + 0.7682217955589294j]),
        (torch.float8_e4m3fn, {}, [-0.0703125, 5.0, -7.5]),
        (torch.int32, {"low": 0, "high": 1, "exclude_zero": True}, [1, 1, 1]),
    ],
)
def test_values_of_a_seed(dtype, options, values):
    result = made(dtype, **options)
    assert result.dtype == dtype
    wide = result.float() if dtype.is_floating_point and dtype.itemsize == 1 else result
    assert wide.flatten().tolist()[:3] == values


def test_layouts():
    wide = made(noncontiguous=True)
    assert (wide.shape, wide.stride(), wide.storage_offset()) == ((2, 3), (6, 2), 1)
    assert made(shape=(1,), noncontiguous=True).is_contiguous()
    assert made(shape=(2, 3, 4, 5), memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert make_tensor(2, 3, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.warns(FutureWarning, match="low==high"):
        assert made(low=0, high=0, exclude_zero=True)[0, 0].item() == torch.finfo(torch.float32).tiny


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"dtype": torch.int8, "requires_grad": True}, ValueError, "not supported for boolean and integral"),
        ({"noncontiguous": True, "memory_format": torch.channels_last}, ValueError, "mutually exclusive"),
        ({"low": float("nan")}, ValueError, "cannot be NaN"),
        ({"low": 2, "high": 1}, ValueError, "must be less"),
        ({"dtype": torch.int8, "low": 1, "high": 1}, ValueError, "`low` must be less than `high`"),
        ({"dtype": torch.uint8, "low": 256, "high": 300}, ValueError, r"only supports \[0, 256\)"),
        ({"dtype": "float32"}, TypeError, "not supported by torch.testing.make_tensor"),
    ],
)
def test_errors(options, error, text):
    with pytest.raises(error, match=text):
        made(**options)
