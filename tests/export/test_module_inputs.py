"""Modules among the inputs of exported programs, and inputs by keys that are no names."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import Tensor, nn


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.fc(x) + self.shift
        return result


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x: Tensor, m: nn.Module) -> Tensor:
        result: Tensor = self.last(m(x)) * 2
        return result


def test_weights_of_modules_that_are_inputs_are_inputs() -> None:
    x, outer, inner, other = torch.randn(2, 3), Outer(), Inner(), Inner()
    ep = torch.export.export(outer, (x, inner))
    assert ep.graph_signature.user_inputs == ("x", "m_fc_weight", "m_fc_bias", "m_shift")
    for program in (ep, ep.run_decompositions({})):
        for given in (inner, other):
            assert program.module()(x, given).equal(outer(x, given))
    torch.testing.assert_close(ep.run_decompositions().module()(x, other), outer(x, other))
    with pytest.raises(ValueError, match="exported input tree spec"):
        ep.module()(x, nn.Linear(3, 3))
    assert torch.utils._pytree.tree_leaves(inner) == [inner]  # elsewhere a module is a leaf


class Sums(nn.Module):
    def forward(self, d: dict[object, Tensor]) -> Tensor:
        return d["a.b"] + 2 * d["a_b"] + 3 * d[3]


def test_keys_that_are_no_names() -> None:
    given = {"a.b": torch.ones(2), "a_b": torch.arange(2.0), 3: torch.full((2,), 5.0)}
    ep = torch.export.export(Sums(), (given,))
    assert ep.graph_signature.user_inputs == ("d_a_b", "d_a_b_1", "d_3")
    assert ep.module()(given).equal(Sums()(given))
