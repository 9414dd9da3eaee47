"""Fake functions that ask for a size that depends on numbers."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode


def test_a_fake_mode_says_whose_size_nobody_knows() -> None:
    @torch.library.custom_op("unknown_sizes::places", mutates_args=())
    def places(x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x)

    @places.register_fake
    def _(x: Any) -> Any:
        size = torch.library.get_ctx().new_dynamic_size()
        return x.new_empty((size, x.dim()), dtype=torch.int64)

    mode = FakeTensorMode()
    with mode, pytest.raises(DynamicOutputShapeException, match=r"unknown_sizes.places.default"):
        places(torch.empty(3, 4))
    with pytest.raises(DynamicOutputShapeException):
        places(mode.from_tensor(torch.empty(3, 4)))
    with pytest.raises(RuntimeError, match="there is no such meta implementation"):
        places(torch.empty(3, 4, device="meta"))
    with pytest.raises(RuntimeError, match="there is no such meta implementation"):
        torch.library.get_ctx()
    assert places(torch.eye(2)).tolist() == [[0, 0], [1, 1]]
