"""Types that are known in part: torch.fx.tensor_type and what checks and refines a graph by them."""

from __future__ import annotations

import importlib.util

import pytest

import rushlight as torch
from rushlight.fx.experimental.graph_gradual_typechecker import GraphTypeChecker, Refine, broadcast_types
from rushlight.fx.experimental.refinement_types import Equality
from rushlight.fx.experimental.rewriter import RewritingTracer
from rushlight.fx.experimental.unification import Var, reify, unifiable, unify, variables
from rushlight.fx.experimental.unify_refinements import infer_symbolic_types, unify_eq
from rushlight.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 5)
        self.norm = torch.nn.BatchNorm2d(6)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2, 2)
        self.linear = torch.nn.Linear(14, 20)
        self.small = torch.nn.AdaptiveAvgPool2d((6, None))

    def forward(self, x):
        x = self.pool(self.relu(self.norm(self.conv(x))))
        return torch.flatten(self.small(self.linear(x)), 1)


def checked(module, *types):
    traced = torch.fx.symbolic_trace(module)
    given = iter(types)
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            node.type = next(given)
    assert GraphTypeChecker({}, traced).type_check()
    return traced


def types(traced):
    return [node.type for node in traced.graph.nodes]


def test_types() -> None:
    assert TensorType[1, Dyn] == TensorType((1, Dyn)) == TensorType[(1, Dyn)]
    assert repr(TensorType((1, Dyn))) == "TensorType[(1, Dyn)]"
    assert is_consistent(TensorType((1, Dyn)), TensorType((Dyn, 2)))
    assert not is_consistent(TensorType((1, 3)), TensorType((Dyn, 2)))
    assert is_more_precise(TensorType((1, 2)), TensorType((Dyn, 2))) and is_more_precise(int, Dyn)
    assert not is_more_precise(TensorType((Dyn, 2)), TensorType((1, 2)))
    wide = broadcast_types(TensorType((2, 3, 4)), TensorType((1, Dyn, 1, 4)))
    assert wide == (TensorType((1, 2, 3, 4)), TensorType((1, Dyn, 3, 4)))


def test_sizes_follow_forwards() -> None:
    found = types(checked(Layers(), TensorType((4, 3, 32, 32))))
    assert found[1:6] == [TensorType((4, 6, 28, 28))] * 3 + [
        TensorType((4, 6, 14, 14)),
        TensorType((4, 6, 14, 20)),
    ]
    assert found[-3:] == [TensorType((4, 6, 6, 6)), TensorType((4, 216)), TensorType((4, 216))]
    unknown = types(checked(Layers(), TensorType((Dyn, 3, Dyn, 32))))
    assert unknown[4] == TensorType((Dyn, 6, Dyn, 14)) and unknown[-1] == TensorType((Dyn, 216))


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (lambda x, y: x + y, ((1, 2, 3, Dyn), (1, 2, 3)), "Cannot add arguments x"),
        (lambda x: torch.reshape(x, [1, 2, 3]), ((1, 5),), "Cannot reshape in node reshape from"),
        (lambda x: torch.transpose(x, 0, 10), ((1, 2),), "Cannot transpose 0 and 10 in type"),
        (torch.nn.Sequential(torch.nn.Linear(2, 3)), ((4, 5),), "Inconsistent 2 and 5 in Linear"),
        (torch.nn.Sequential(torch.nn.BatchNorm2d(2)), ((2, 2, 5),), "It should have rank 4"),
    ],
)
def test_contradictions(function, given, message) -> None:
    with pytest.raises(TypeError, match=message):
        checked(function, *map(TensorType, given))


def test_annotations_are_types_of_nodes() -> None:
    def forward(x: TensorType((1, 2, Dyn)), y: Dyn):
        return torch.add(x, y)

    forward.__annotations__ = {"x": TensorType((1, 2, Dyn)), "y": Dyn}
    traced = torch.fx.symbolic_trace(forward)
    assert types(traced)[:2] == [TensorType((1, 2, Dyn)), Dyn]
    place = "torch.fx.tensor_type"
    assert f"x : {place}.TensorType[_1,_2,{place}._DynType], y : {place}._DynType" in traced.code


def test_refinement() -> None:
    traced = checked(lambda x, y: torch.add(x, y), TensorType((1, 2)), TensorType((Dyn, 2)))
    refine = Refine(traced)
    refine.refine()
    assert refine.constraints == [Equality(Var(0), Var(1)), Equality(2, 2)]
    assert unify_eq(refine.constraints) == {Var(0): Var(1)}


@pytest.mark.skipif(not importlib.util.find_spec("sympy"), reason="sizes become symbols of SymPy's")
def test_symbols() -> None:
    import sympy

    traced = checked(Layers(), TensorType((Dyn, 3, Dyn, 32)))
    infer_symbolic_types(traced)
    found = types(traced)
    assert len({node.dims[0] for node in found}) == 1
    assert found[1].dims[2] == sympy.floor(found[0].dims[2] - 4)


def test_a_rewritten_function_keeps_its_own_meaning_of_annotations(tmp_path, monkeypatch) -> None:
    (tmp_path / "annotated.py").write_text(
        "import rushlight as torch\n\n\ndef forward(x: int, y: 3):\n    assert x, y\n    return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import annotated

    graph = RewritingTracer().trace(annotated.forward)
    assert [node.type for node in graph.nodes][:2] == [int, 3]


@unifiable
class Pair:
    def __init__(self, one, other) -> None:
        self.one, self.other = one, other


def test_unification() -> None:
    x, y = Var("x"), Var("y")
    assert unify((1, x, [y]), (1, 2, [x])) == {x: 2, y: 2}
    assert unify((1, 2), (1, 2, 3)) is False
    with pytest.raises(NotImplementedError, match="Could not find signature for _unify: <int, int, dict>"):
        unify((1, 2), (2, 2))
    assert unify(Pair(1, x), Pair(1, 3)) == {x: 3}
    assert reify({"a": [x, (y,)]}, {x: y, y: 1}) == {"a": [1, (1,)]}
    assert reify(Pair(x, 2), {x: 1}).one == 1
    with variables("z"):
        assert unify("z", 4) == {"z": 4}
    assert str(Var(3)) == "~3" and Var(3) == Var(3) != Var(4)
