"""The first elements of rows' orders (kernels/loops/topk.py) against NumPy's stable order."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.loops.topk import first, numbers

DTYPES = ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def given(dtype, rows, n):
    x = np.random.default_rng(0).integers(0, 50, (rows, n)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, ::3], x[1], x[2, 5:], x[3, 1::2], x[4] = np.nan, np.nan, -np.inf, np.inf, -x[4]
    else:
        x[0, ::3], x[1, ::2] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
def test_kernel_gives_the_beginning_of_the_stable_order(dtype, largest):
    found = first(np.dtype(dtype), largest)
    assert found.compile_now()
    for n in (20, 333):
        x = given(dtype, 6, n)
        reversed_ = n - 1 - x[:, ::-1].argsort(1, "stable")[:, ::-1]
        order = reversed_ if largest else x.argsort(1, "stable")
        for k in (1, 2, 3, 7, 20):
            values, places = np.empty((6, k), dtype), np.empty((6, k), np.int64)
            assert found.fn(x, values, places, numbers(x.shape, values.shape))
            assert (places == order[:, :k]).all()
            assert np.array_equal(values, np.take_along_axis(x, places, 1), equal_nan=x.dtype.kind == "f")


def test_what_has_no_kernel():
    assert first(np.dtype(np.float16), True) is None and first(np.dtype(np.complex64), True) is None


def test_rows_whose_best_keep_coming_are_refused():
    found = first(np.dtype(np.float32), True)
    assert found.compile_now()
    x, values, places = np.arange(4096, dtype=np.float32), np.empty(4, np.float32), np.empty(4, np.int64)
    how = numbers(x.shape, values.shape)
    assert not found.fn(x, values, places, how) and found.fn(x[::-1].copy(), values, places, how)
    t = torch.from_numpy(x).expand(50, 4096).contiguous()
    assert torch.equal(t.topk(4)[1], torch.tensor([4095, 4094, 4093, 4092]).expand(50, 4))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_large_ones(threads, request):
    request.addfinalizer(lambda before=torch.get_num_threads(): torch.set_num_threads(before))
    torch.set_num_threads(threads)
    x = torch.randn(3, 401, 1024)
    values, places = x.topk(7)
    assert torch.equal(places, x.argsort(-1, descending=True, stable=True)[..., :7])
    assert torch.equal(values, x.gather(-1, places))
