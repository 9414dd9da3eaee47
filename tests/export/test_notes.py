"""What nodes and signatures of exported programs note."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass
from typing import Any

import pytest

import rushlight as torch
from rushlight._export.serde.dynamic_shapes import _dump_dynamic_shapes
from rushlight._export.utils import register_dataclass_as_pytree_node
from rushlight.export import Dim
from rushlight.export.errors import UserError
from rushlight.utils import _pytree


class Disabled(torch.nn.Module):
    """A part of it is never compiled."""

    @torch._dynamo.disable()
    def part(self, x: Any) -> Any:
        return x * 2

    def forward(self, x: Any) -> Any:
        return self.part(x) + 1


def test_what_is_disabled_is_noted() -> None:
    with torch.fx.traceback.preserve_node_meta():
        made = torch.export.export(Disabled(), (torch.randn(2),))
    notes = {n.name: n.meta.get("custom") for n in made.graph.nodes}
    assert notes["mul"]["_torchdynamo_disable_method"] == "part"
    assert not notes["add"]
    plain = torch.export.export(Disabled(), (torch.randn(2),))
    assert not any(n.meta.get("custom") for n in plain.graph.nodes)


class Sums(torch.nn.Module):
    """Of what may be nested."""

    def forward(self, x: Any) -> Any:
        return sum(_pytree.tree_leaves(x))


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ({"k": [Dim("d")]}, "top-level keys must be the arg names"),
        (({"k": (Dim("d"),)},), r"`inputs\[0\]\['k'\]` is a <class 'list'>, but .* is a <class 'tuple'>"),
        (({"k": Dim("d")},), r"`inputs\[0\]\['k'\]` is a <class 'list'>, but `.*` is not"),
        (({"k": [None, None]},), "has 1 elements, but .* has 2 elements"),
        (({"K": [None]},), "has keys .'k'., but .* has keys .'K'."),
        (({"k": [Dim("d")]},), r"Unexpected input tensor shape .* at `dynamic_shapes\[0\]\['k'\]\[0\]`"),
        (({"k": [(None, None)]},), r"to have the same length .*expected 1, but got 2"),
        (({"k": [("d",)]},), "Unexpected dimension #0 in input tensor shape"),
    ],
)
def test_shapes_of_another_structure(shapes: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        torch.export.export(Sums(), ({"k": [torch.randn(4)]},), dynamic_shapes=shapes)


@dataclass
class Pair:
    """A program's own class."""

    a: Any
    b: Any = None


def test_shapes_of_a_class_are_told_in_order() -> None:
    register_dataclass_as_pytree_node(Pair, return_none_fields=True)
    leaves, spec = _pytree.tree_flatten(Pair(1))
    assert leaves == [1, None]
    assert _pytree.tree_unflatten(leaves, spec) == Pair(1)
    made = _dump_dynamic_shapes({"y": [(Dim.AUTO,), (8,)]}, (Pair(torch.randn(2), torch.randn(8)),))
    assert made.dynamic_shapes == ([["_DimHint.AUTO"], [8]],)


def test_what_requires_grad_and_other_names_of_constants() -> None:
    class Held(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = torch.ones(3)
            self.inner = torch.nn.Module()
            self.inner.other = self.one

        def forward(self, x: Any, y: Any) -> Any:
            return x + y + self.one + self.inner.other

    made = torch.export.export(Held(), (torch.randn(3), torch.randn(3, requires_grad=True)))
    held = {n.name: n.meta["val"].requires_grad for n in made.graph.nodes if n.op == "placeholder"}
    assert (held["x"], held["y"]) == (False, True)
    assert sorted(made.constants) == ["inner.other", "one"]


def test_items_are_asked_for_once() -> None:
    class Top(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.topk(x, 2)

    made = torch.export.export(Top(), (torch.randn(3),))
    module, signature = copy.deepcopy((made.graph_module, made.graph_signature))
    end = module.graph.output_node()
    call = next(n for n in module.graph.nodes if str(n.target) == "aten.topk.default")
    with module.graph.inserting_before(end):
        again = module.graph.call_function(operator.getitem, (call, 1))
    end.args = ((*end.args[0], again),)
    signature.output_specs.append(copy.copy(signature.output_specs[1]))
    found = made._update(module, signature)
    assert sum(n.target is operator.getitem for n in found.graph.nodes) == 2


def test_whether_a_program_is_traced() -> None:
    from rushlight.fx import _symbolic_trace

    told = []

    class Asks(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            told.append((_symbolic_trace.is_fx_tracing(), _symbolic_trace.is_fx_symbolic_tracing()))
            return x + 1

    torch.export.export(Asks(), (torch.randn(2),))
    torch.fx.symbolic_trace(Asks())
    assert told[0] == (True, False)
    assert told[-1] == (True, True)


class Writes(torch.nn.Module):
    """Converts an input to what it is, and writes into that."""

    def forward(self, x: Any) -> Any:
        y = x.float()
        y.add_(1)
        return y, x


class Around(torch.nn.Module):
    """Goes on with what a part has written into."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Any) -> Any:
        return self.part(x) + x * 4


class InPlace(torch.nn.Module):
    """Writes into its input, and gives something else."""

    def forward(self, x: Any) -> Any:
        x.add_(1)
        return x - 2


def test_inputs_that_are_results() -> None:
    made = torch.export.export(Writes(), (torch.ones(()),))
    for program in (made, made.run_decompositions({})):
        x = torch.tensor(2.0)
        y, z = program.module()(x)
        assert y is x
        assert z is x
        assert x == 3


def test_modules_that_write_into_their_inputs_can_be_swapped() -> None:
    model = Around(InPlace())
    made = torch.export.export(model, (torch.ones(3),), preserve_module_call_signature=("part",))
    found = torch.export.unflatten(made)
    wanted = model(torch.ones(3))
    assert found(torch.ones(3)).equal(wanted)
    found.set_submodule("part", InPlace())
    assert found(torch.ones(3)).equal(wanted)


def test_tensors_that_a_program_keeps_are_told() -> None:
    kept = []

    class Keeps(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = x + 1
            kept.append(lambda: made)
            return x.sin()

    with (
        torch._export.config.patch(detect_non_strict_fake_tensor_leaks=True),
        pytest.warns(UserWarning, match=r"Detected 1 fake tensors that are still alive(.|\n)*made = x \+ 1"),
    ):
        torch.export.export(Keeps(), (torch.ones(2),))


class Called(torch.nn.Module):
    """Ops by methods, operators, functions and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        x = self.layer(torch.nn.functional.relu(x + 1)).sin()
        return torch.add(x, x[0])


def test_nodes_note_the_function_that_was_called() -> None:
    made = torch.export.export(Called(), (torch.ones(2, 2),))
    told = [n.meta["torch_fn"] for n in made.graph.nodes if n.op == "call_function"]
    assert told == [
        ("add_1", "method_descriptor.add"),
        ("relu_1", "function.relu"),
        ("linear_1", "builtin_function_or_method.linear"),
        ("sin_1", "method_descriptor.sin"),
        ("__getitem___1", "wrapper_descriptor.__getitem__"),
        ("add_1", "builtin_function_or_method.add"),
    ]
    smaller = made.run_decompositions()
    kinds = [n.meta["torch_fn"][0] for n in smaller.graph.nodes if n.op == "call_function"]
    assert kinds == ["add_1", "relu_1", "linear_1", "linear_1", "sin_1", "__getitem___1", "add_1"]
