"""Ops whose arguments are lists."""

from __future__ import annotations

import rushlight as torch


def test_lists_of_lists_of_tensors() -> None:
    with torch.library._scoped_library("lists_of_lists", "DEF") as lib:
        lib.define("first(Tensor[][] nested, int[] weights) -> Tensor")
        lib.impl("first", lambda nested, weights: nested[0][0] * weights[0], "CPU")
        x = torch.ones(2)
        assert torch.ops.lists_of_lists.first([[x, x], [x]], [3]).tolist() == [3, 3]


def test_options_given_by_keyword_go_by_their_places():
    library, seen = torch.library.Library("by_keyword", "DEF"), []
    library.define(
        "f(Tensor x, int[] sizes, ScalarType of=6, ScalarType to=int64, Device on='cpu', float low=1.0, float? high=None, *, int k=3) -> Tensor"
    )
    library.impl("f", lambda x, _, *more, **named: seen.append((more, named)) or x + 0, "CPU")
    x = torch.ones(2)
    torch.ops.by_keyword.f(x, [1], high=2.0)
    torch.ops.by_keyword.f(x, sizes=[1], k=4)
    assert seen == [((torch.float32, torch.int64, torch.device("cpu"), 1.0, 2.0), {}), ((), {"k": 4})]
