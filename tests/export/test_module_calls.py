"""Modules that an exported program was recorded in: their names in nodes, and calls that are kept."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from rushlight.export import export, unflatten
from rushlight.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG as config


class _Part(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.ones(1), persistent=False)

    def forward(self, x: Any, more: bool, *, other: Any = None) -> Any:
        x = x + self.shift if more else x - 2 * self.shift
        return {"result": x, "others": (x * 2,)}


class _Whole(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = _Part()
        norm = torch.nn.LayerNorm(2)
        self.seq = torch.nn.Sequential(norm, torch.nn.ReLU(), norm)

    def forward(self, x: Any) -> Any:
        x = self.n(x, True)["result"]
        x = self.n(x, False)["others"][0]
        return self.seq(x)


def test_notes_say_which_call_of_which_module() -> None:
    program = export(_Whole(), (torch.randn(3, 2),))
    inner = [list(n.meta["nn_module_stack"])[-1] for n in program.graph.nodes if n.op == "call_function"]
    assert dict.fromkeys(inner) == dict.fromkeys(
        f"L__self__{name}" for name in ("n", "n@1", "seq.0", "seq.1", "seq.2")
    )
    stack = next(n for n in program.graph.nodes if n.name == "relu").meta["nn_module_stack"]
    assert stack["L__self__seq"] == ("seq", "torch.nn.modules.container.Sequential")


def test_calls_that_are_kept() -> None:
    x = torch.randn(3, 2)
    program = export(_Whole(), (x,), preserve_module_call_signature=("n",))
    entries = {e.fqn: e.signature for e in program.module_call_graph}
    assert entries["seq"] is None and [a.name for a in entries["n"].inputs] == ["x", ""]
    assert entries["n@1"].inputs[1].value is False and entries["n"].out_spec.num_leaves == 2
    for told in (program, program.run_decompositions()):
        parts = unflatten(told)
        assert parts(x).equal(_Whole()(x))
        parts.set_submodule("n", _Part())
        assert parts(x).equal(_Whole()(x))
        with pytest.raises(TypeError, match="Expected the structure"):
            unflatten(told).n(x)


def test_calls_of_another_structure_cannot_be_kept() -> None:
    class Other(_Whole):
        def forward(self, x: Any) -> Any:
            x = self.n(x, True)["result"]
            return self.n(x, False, other=x)["result"]

    with pytest.raises(AssertionError, match="in_spec mismatch"):
        export(Other(), (torch.randn(3, 2),), preserve_module_call_signature=("n",))


def test_fake_inputs_and_weights() -> None:
    mode = FakeTensorMode()
    with mode:
        x, model = torch.randn(3, 2), torch.nn.Linear(2, 2)
    real = torch.nn.Linear(2, 2)
    program = export(real, (x,))
    assert program.module()(torch.ones(3, 2)).equal(real(torch.ones(3, 2)))
    assert all(n.meta["val"].fake_mode is mode for n in program.graph.nodes if "val" in n.meta)
    fake = export(model, (torch.randn(3, 2),))
    assert isinstance(fake.state_dict["weight"], FakeTensor) and model.weight is fake.state_dict["weight"]


def test_inputs_that_are_constants_are_told() -> None:
    class Add(torch.nn.Module):
        def forward(self, a: Any, b: Any, alpha: int) -> Any:
            return torch.add(a, b, alpha=alpha)

    program = export(Add(), (torch.ones(2), torch.ones(2), 3))
    assert next(n for n in program.graph.nodes if n.name == "alpha").meta["val"] == 3


def test_a_module_that_is_called_within_another_and_on_its_own() -> None:
    """Each call has a graph of its own: `k.n`, and `k.n@1`."""

    class Inner(torch.nn.Module):
        def forward(self, x: torch.Tensor, more: bool) -> torch.Tensor:
            return x + 5 if more else x * 2

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.n(x, True)

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k = Outer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.k(x) + self.k.n(x, False)

    x = torch.ones(1)
    found = torch.export.unflatten(torch.export.export(Whole(), (x,)))
    assert found(x).item() == 8
    replaced = torch.nn.Identity()
    found.set_submodule("k.n@1", replaced)
    assert found(x).item() == 7
    found.set_submodule("k.n", replaced)
    assert found(x).item() == 2


def test_nodes_of_a_module_say_which_nodes_of_the_program_they_were() -> None:
    program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    found = {n.name: n.meta["from_node"][-1] for n in program.module().graph.nodes if "from_node" in n.meta}
    assert found["linear"].pass_name == "ExportedProgram.module()"
    assert found["weight"].pass_name == "ExportedProgram.module().unlift()"
    assert found["weight"].from_node[-1].graph_id == found["linear"].graph_id == id(program.graph)


def test_calls_that_differ_are_one_module_where_the_signature_is_kept() -> None:
    class Inner(torch.nn.Module):
        def forward(self, x: torch.Tensor, more: bool) -> torch.Tensor:
            return x + 5 if more else x * 2

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.n(self.n(x, True), False) + self.n(x, True)

    x = torch.ones(1)
    found = unflatten(export(Whole(), (x,), preserve_module_call_signature=("n",)))
    assert found(x).item() == found(x).item() == 18
    assert [name for name, _ in found.named_children()] == ["n"]
    with pytest.raises(TypeError):
        found.n("none")
    assert found(x).item() == 18
    found.set_submodule("n", Inner())
    assert found(x).item() == 18


def test_strict_export_refuses_by_its_settings() -> None:
    given = torch.nn.LSTM(2, 3), (torch.ones(4, 2),)
    config.allow_rnn = False
    try:
        with pytest.raises(torch._dynamo.exc.Unsupported, match="does not support RNN, GRU, or LSTM"):
            export(*given, strict=True)
    finally:
        config.allow_rnn = True
    export(*given, strict=True)


def test_modules_that_are_called_by_numbers_keep_their_names() -> None:
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    ).eval()
    x = torch.randn(2, 3)
    program = torch.export.export(module, (x,))
    for one in (program, program.run_decompositions()):
        unflattened = torch.export.unflatten(one)
        assert [n for n, _ in unflattened.named_modules()] == ["", "0", "1", "2", "2.0", "2.1"]
        torch.testing.assert_close(unflattened(x), module(x))


def test_unflatten_is_found_in_the_module_of_its_name() -> None:
    from rushlight.export.unflatten import InterpreterModule, unflatten  # a name of a module and a function

    assert unflatten is torch.export.unflatten
    assert issubclass(torch.export.UnflattenedModule, InterpreterModule)


def test_a_size_that_nothing_is_known_of() -> None:
    class Ones(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.new_ones(torch.sym_fresh_size(x.shape[0]))

    program = torch.export.export(
        Ones(), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("n", min=2)},)
    )
    assert "aten.item" in program.graph_module.code
    assert program.module()(torch.ones(7, 3)).shape == (7,) and torch.sym_fresh_size(3) == 3
