"""Fake tensors that are asked for what depends on numbers: sizes, and the numbers themselves."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from rushlight.export.errors import GuardOnDataDependentSymNode
from rushlight.fx.experimental.symbolic_shapes import ShapeEnv


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


def test_numbers_that_nobody_knows_are_symbols_of_a_shape_env() -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        x = torch.rand(3)
        assert isinstance(x.sum().item(), torch.SymFloat)
        assert len({str(n) for n in x.tolist()}) == 3
        assert isinstance((x > 0)[0].item(), torch.SymBool)
        for decide in (bool, int, float):
            with pytest.raises(GuardOnDataDependentSymNode, match="data-dependent expression zuf|Eq"):
                decide(x.sum() if decide is not bool else x.sum() > 0)
        with pytest.raises(DataDependentOutputException):
            torch.ones(2, dtype=torch.int64)[0].item()
        assert (bool(torch.tensor(3) > 1), int(torch.tensor(3))) == (True, 3)
    with FakeTensorMode(), pytest.raises(DataDependentOutputException):
        torch.rand(3).tolist()
