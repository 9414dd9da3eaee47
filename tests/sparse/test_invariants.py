"""torch.sparse.check_sparse_tensor_invariants."""

from __future__ import annotations

import pytest

import rushlight as torch

check = torch.sparse.check_sparse_tensor_invariants


def outside():
    return torch.sparse_coo_tensor([[5]], [1.0], (2,))


def test_makers_check_inside_and_not_outside():
    outside()
    with check():
        assert check.is_enabled()
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            outside()
        with check(enable=False):
            outside()
    assert not check.is_enabled()


def test_a_switch_and_a_decorator():
    check.enable()
    try:
        with pytest.raises(RuntimeError):
            outside()
    finally:
        check.disable()
    with pytest.raises(RuntimeError):
        check()(outside)()
    once = check()
    with once, pytest.raises(RuntimeError, match="already activated"), once:
        pass
