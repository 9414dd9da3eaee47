"""torch._check and its kin, torch._assert_async and its kin."""

from __future__ import annotations

import pytest

import rushlight as torch


def test_each_check_has_its_error() -> None:
    for check, error in (
        (torch._check, RuntimeError),
        (torch._check_index, IndexError),
        (torch._check_type, TypeError),
        (torch._check_value, ValueError),
        (torch._check_not_implemented, NotImplementedError),
    ):
        check(True)
        with pytest.raises(error, match="said"):
            check(False, lambda: "said")
        with pytest.raises(error, match="Expected cond to be True, but got False"):
            check(False)


def test_conditions_are_bools() -> None:
    with pytest.raises(TypeError, match="use torch._check_tensor_all"):
        torch._check(torch.tensor(True))
    with pytest.raises(TypeError, match="message must be a callable"):
        torch._check(False, "words")
    with pytest.warns(FutureWarning, match="Use _check"):
        torch._check_is_size(3)
    with pytest.raises(RuntimeError), pytest.warns(FutureWarning):
        torch._check_is_size(3, max=2)


def test_tensors_are_checked_whole() -> None:
    torch._check_tensor_all(torch.ones(2, dtype=torch.bool))
    with pytest.raises(RuntimeError):
        torch._check_tensor_all(torch.tensor([True, False]))
    with pytest.raises(TypeError, match="must have dtype torch.bool"):
        torch._check_tensor_all(torch.ones(2))


def test_asserts_of_tensors() -> None:
    torch._assert_async(torch.tensor(1))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0))
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        torch._assert_async(torch.zeros(2))
    with pytest.raises(RuntimeError, match="sizes mismatch"):
        torch._assert_tensor_metadata(torch.ones(2), size=[3])
    with pytest.raises(RuntimeError, match="strides mismatch"):
        torch._assert_tensor_metadata(torch.ones(2), None, [2])
