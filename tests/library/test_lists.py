"""Ops whose arguments are lists."""

from __future__ import annotations

import rushlight as torch


def test_lists_of_lists_of_tensors() -> None:
    with torch.library._scoped_library("lists_of_lists", "DEF") as lib:
        lib.define("first(Tensor[][] nested, int[] weights) -> Tensor")
        lib.impl("first", lambda nested, weights: nested[0][0] * weights[0], "CPU")
        x = torch.ones(2)
        assert torch.ops.lists_of_lists.first([[x, x], [x]], [3]).tolist() == [3, 3]
