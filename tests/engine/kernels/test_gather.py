"""Rows of a table by number, by several threads."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.ops.indexing.along_dim import rows_of


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex128"])
@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ((7, 200), (9000,)),
        ((300, 5, 64), (40, 50)),
        ((9, 256), (1,)),
        ((4, 128), (0,)),
        ((50, 1027), (3000,)),
        ((9, 131), (70,)),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_those_of_numpy(dtype, shape, count, threads, request):
    request.addfinalizer(lambda before=torch.get_num_threads(): torch.set_num_threads(before))
    torch.set_num_threads(threads)
    rng = np.random.default_rng(0)
    table, index = rng.integers(0, 90, shape).astype(dtype), rng.integers(0, shape[0], count)
    found = rows_of(table, index)
    assert found.dtype == table.dtype and found.tobytes() == table[index].tobytes()


def test_any_layout_and_kind_of_numbers():
    table, index = np.arange(1 << 20).reshape(1024, 1024), np.arange(1024)[::-1]
    for each, numbers in (
        (table[:, ::2], index),
        (table, index),
        (table, index.astype(np.int32)),
        (table[0], index),
    ):
        assert np.array_equal(rows_of(each, numbers), each[numbers])


@pytest.mark.parametrize("wrong", [-1, 5000])
def test_numbers_out_of_range_raise(wrong):
    weight, index = torch.randn(5000, 256), torch.randint(0, 5000, (5000,))
    index[4321] = wrong
    for call in (lambda: torch.nn.functional.embedding(index, weight), lambda: weight.index_select(0, index)):
        with pytest.raises(IndexError, match="out of range"):
            call()


@pytest.mark.parametrize("shape", [(40, 70), (5, 6, 300)])
def test_positions_along_the_last_dim(shape):
    x, index = torch.randn(shape), torch.randint(0, shape[-1], shape)
    for _ in range(3):
        assert np.array_equal(x.gather(-1, index).numpy(), np.take_along_axis(x.numpy(), index.numpy(), -1))
        written = torch.zeros(shape).scatter(-1, index.sort(-1)[0], x)
        assert written.count_nonzero() <= index.numel()
        for outside in (shape[-1], -1):
            with pytest.raises(RuntimeError, match="out of bounds"):
                x.gather(-1, index.index_fill(0, torch.tensor([1]), outside))
