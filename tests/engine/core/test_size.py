"""torch.Size beside other things: a tuple, whose product with an array is the array's."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch


def test_sums_and_products() -> None:
    size = torch.Size([2, 3])
    assert type(size * 2) is torch.Size and size * 2 == 2 * size == (2, 3, 2, 3)
    assert size * np.int64(2) == size * torch.tensor(2) == (2, 3, 2, 3)
    for product in (size * np.array([1, 2]), np.array([1, 2]) * size):
        assert product.tolist() == [2, 6]
    assert (size * np.array(2)).tolist() == [4, 6] and (size + np.array([1, 2])).tolist() == [3, 5]
    assert type((1,) + size) is torch.Size
    with pytest.raises(TypeError, match="can't multiply sequence by non-int of type 'float'"):
        size * 1.5
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        size + [1]


def test_a_size_is_a_plain_tuple() -> None:
    """Whose class has no parameters of types: checkers of types cannot tell what a generic one is part of."""
    assert not hasattr(torch.Size, "__orig_bases__")
