"""Rows of a table by number, by the team."""
import numpy as np
import pytest

import rushlight as torch
from rushlight.compiler.gather import rows


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex128"])
@pytest.mark.parametrize(("shape", "count"), [((7, 200), (3000,)), ((300, 5, 64), (40, 50)), ((9, 256), (1,)),
                                              ((4, 128), (0,))])
def test_rows_are_those_of_numpy(dtype, shape, count):
    rng = np.random.default_rng(0)
    table, index = rng.integers(0, 90, shape).astype(dtype), rng.integers(0, shape[0], count)
    found = rows(table, index)
    if found is not None:
        assert found.dtype == table.dtype and found.tobytes() == table[index].tobytes()


def test_others_are_left_to_numpy():
    table, index = np.zeros((8, 300), np.float32), np.arange(8)
    assert rows(table[:, ::2], index) is None and rows(table, index.astype(np.int32)) is None
    assert rows(table[0], index) is None and rows(table, np.array([-1])) is None and rows(table, index + 1) is None


@pytest.mark.parametrize("wrong", [-1, 5000])
def test_numbers_out_of_range_raise(wrong):
    weight, index = torch.randn(5000, 256), torch.randint(0, 5000, (5000,))
    index[4321] = wrong
    for call in (lambda: torch.nn.functional.embedding(index, weight), lambda: weight.index_select(0, index)):
        with pytest.raises(IndexError, match="out of range"):
            call()
