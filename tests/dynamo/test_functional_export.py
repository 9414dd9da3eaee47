"""torch._dynamo.functional_export: a call as a graph of what the program calls."""

from __future__ import annotations

from typing import Any

import pytest
from rushlight._dynamo.functional_export import dynamo_graph_capture_for_export

import rushlight as torch
from rushlight.export._trace import _export_to_torch_ir

OUTER = torch.arange(3.0)
SEEN: list[Any] = []


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, given: dict[str, Any], scale: int = 2) -> Any:
        shifted = given["x"] + OUTER
        self.calls.add_(1)
        shifted *= scale
        SEEN.append(shifted)
        with torch.no_grad():
            top = 1 - shifted[:-1].max(dim=0).values
        return {"y": self.linear(shifted), "same": given["x"], "top": top, "n": 5}


def test_a_call_becomes_a_graph_of_what_the_program_calls() -> None:
    layer = Layer()
    made = dynamo_graph_capture_for_export(layer)({"x": torch.ones(2, 3)})
    assert SEEN == [] and layer.calls.item() == 0  # what the call changed is put back
    text = made.code
    assert "def forward(self, args_0):" in text
    assert "shifted = l_given_x_ + g_outer_" in text
    assert "max_1 = getitem.max(dim = 0)" in text and "torch._C._set_grad_enabled(False)" in text
    assert "torch._C._nn.linear(shifted_1, l_self_modules_linear_parameters_weight_" in text
    x = torch.randn(2, 3)
    found, wanted = made({"x": x}), layer({"x": x})
    assert found["same"] is x and found["n"] == 5 and layer.calls.item() == 2
    assert found["y"].equal(wanted["y"]) and found["top"].equal(wanted["top"])
    found["y"].sum().backward()
    assert layer.linear.weight.grad is not None
    assert dict(made.named_parameters()).keys() == dict(layer.named_parameters()).keys()
    assert made.state_dict().keys() == layer.state_dict().keys()
    assert made.meta["tracing_context"].fake_mode is made.meta["fake_mode"]


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(torch._dynamo.exc.UserError, match="one of the inputs with type"):
        dynamo_graph_capture_for_export(lambda x: x)(object())
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Tensor.__bool__"):
        dynamo_graph_capture_for_export(lambda x: x if x.sum() > 0 else -x)(torch.ones(2))
    made = dynamo_graph_capture_for_export(lambda x: x[0] + x[1])([torch.ones(2), torch.ones(2)])
    with pytest.raises(ValueError, match="are nested as"):
        made(torch.ones(2))


def test_marked_sizes_are_told_to_be_fixed() -> None:
    x = torch.ones(2)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.warns(UserWarning, match="are, in the captured graph, those of this call"):
        dynamo_graph_capture_for_export(torch.sin)(x)


def test_names_of_the_state_are_restored() -> None:
    layer = torch.nn.Linear(3, 2)
    made = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    made.register_parameter("w", layer.weight)
    made.register_parameter("b", layer.bias)
    made.graph.output((made.graph.get_attr("w"),))
    made.recompile()
    torch.export._restore_state_dict(layer.forward, made)
    assert {n: id(p) for n, p in made.named_parameters()} == {n: id(p) for n, p in layer.named_parameters()}
    assert made()[0] is layer.weight
    with pytest.raises(TypeError, match="a module or a method of one"):
        torch.export._restore_state_dict(len, made)


def test_torch_ir_of_a_module() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    made = _export_to_torch_ir(layer, (torch.ones(1, 3),))
    assert "torch.nn.functional.relu" in made.code
    assert made(torch.ones(1, 3)).equal(layer(torch.ones(1, 3)))
