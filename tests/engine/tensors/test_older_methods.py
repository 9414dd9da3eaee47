"""Methods that PyTorch keeps for older programs."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_resize_gives_the_elements_another_shape() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        found = x.t().resize(2, 3)
    assert found.tolist() == [[0, 3, 1], [4, 2, 5]]
    (found * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.resize_as(torch.ones(6)).shape == (6,)
    with (
        pytest.warns(UserWarning, match="deprecated"),
        pytest.raises(RuntimeError, match=r"resize to 7 \(7 elements in total\), but .* size of 2x3"),
    ):
        x.resize(7)


def test_questions_of_older_programs_have_an_answer() -> None:
    x = torch.tensor([2], dtype=torch.float64)
    assert x.dequantize().dtype is torch.float32
    assert (x.is_distributed(), x.volatile) == (False, False)
    assert x.const_data_ptr() == x.data_ptr()
    assert x._typed_storage().tolist() == [2]
    assert (x.__long__(), x.__nonzero__()) == (2, True)
