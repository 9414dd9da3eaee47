"""torch.fx.experimental.normalize and schema_type_annotation."""

from __future__ import annotations

import operator

import pytest

import rushlight as torch
from rushlight.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
from rushlight.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
from rushlight.fx.operator_schemas import create_type_hint


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, y):
        a = torch.nn.functional.relu(self.linear(torch.add(x, y)))
        return torch.eq(a, self.scale), torch.nn.functional.max_pool1d(a, 3)


@pytest.fixture
def traced():
    return torch.fx.symbolic_trace(Layers())


def test_arguments_go_by_name(traced) -> None:
    x, y = torch.rand(2, 3), torch.rand(2, 3)
    made = NormalizeArgs(traced).transform()
    by_name = {node.name: (node.args, sorted(node.kwargs)) for node in made.graph.nodes}
    assert by_name["linear"] == ((), ["input"]) and by_name["relu"] == ((), ["inplace", "input"])
    assert all(one.equal(other) for one, other in zip(made(x, y), traced(x, y), strict=True))
    kept = NormalizeArgs(traced, normalize_to_only_use_kwargs=False).transform()
    assert "torch.nn.functional.relu(linear, inplace = False)" in kept.code


def test_functions_become_operators(traced) -> None:
    made = NormalizeOperators(traced).transform()
    called = {node.target for node in made.graph.nodes if node.op == "call_function"}
    assert {operator.add, operator.eq} <= called and torch.add not in called


def test_types_of_signatures(traced) -> None:
    made = AnnotateTypesWithSchema(traced).transform()
    types = {node.name: node.type for node in made.graph.nodes}
    assert types["linear"] is types["relu"] is types["scale"] is torch.Tensor
    assert types["add"] is types["max_pool1d"] is None


def test_of_values_that_are_no_types_there_is_no_hint() -> None:
    with pytest.warns(UserWarning, match="not able to successfully create type hint from the type"):
        assert create_type_hint([None, int]) == [None, int]
    assert create_type_hint((int, bool)) == tuple[int, ...]
