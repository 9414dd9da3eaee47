"""torch.export.experimental: programs with their backward pass, methods that become programs."""

from __future__ import annotations

from typing import Any

import pytest
from rushlight.export.graph_signature import OutputKind

import rushlight as torch
from rushlight.export import export
from rushlight.export.experimental import _export_forward_backward, _sticky_export


class Loss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any, label: Any, times: int) -> Any:
        self.calls.add_(1)
        y = self.linear(x) * times
        with torch.no_grad():
            fixed = self.linear(x).sign()
        y = y * fixed * y.detach()
        return y.detach().sum(), torch.nn.functional.cross_entropy(y, label)


def test_a_program_gives_the_gradients_of_its_loss() -> None:
    layer, x, label = Loss(), torch.randn(3, 4, requires_grad=True), torch.tensor([0, 3, 1])
    joint = _export_forward_backward(export(layer, (x, label, 2)), joint_loss_index=1)
    specs = joint.graph_signature.output_specs
    assert [s.kind for s in specs] == [
        *(OutputKind.BUFFER_MUTATION, OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT),
        *[OutputKind.GRADIENT_TO_PARAMETER] * 2,
        OutputKind.GRADIENT_TO_USER_INPUT,
    ]
    assert [s.target for s in specs] == ["calls", None, None, "linear.weight", "linear.bias", "x"]
    backward = joint.graph_signature.backward_signature
    assert (
        list(backward.gradients_to_user_inputs.values()) == ["x"]
        and backward.loss_output == specs[2].arg.name
    )
    own = [layer.linear.weight, layer.linear.bias, layer.calls, x, label, 2]
    with torch.no_grad():
        found = joint.graph_module(*own)
    loss = layer(x, label, 2)[1]
    wanted = torch.autograd.grad(loss, [layer.linear.weight, layer.linear.bias, x])
    torch.testing.assert_close(found[2], loss.detach())
    torch.testing.assert_close(list(found[3:]), list(wanted))


def test_what_is_no_loss_is_refused() -> None:
    layer = Loss()
    program = export(layer, (torch.randn(3, 4), torch.tensor([0, 3, 1]), 2))
    assert program.graph_signature.backward_signature is None
    with pytest.raises(AssertionError, match="the loss must be"):
        _export_forward_backward(program)
    with pytest.raises(AssertionError, match="none of number 2"):
        _export_forward_backward(program, 2)
    both = export(torch.nn.L1Loss(reduction="none"), (torch.ones(1, requires_grad=True), torch.ones(1)))
    assert _export_forward_backward(both).graph_signature.backward_signature is not None
    layer.spare = torch.nn.Parameter(torch.ones(1))
    program = export(layer, (torch.randn(3, 4), torch.tensor([0, 3, 1]), 2))
    with pytest.raises(AssertionError, match="did not receive a gradient: spare"):
        _export_forward_backward(program, 1)


def test_a_method_is_exported_at_its_first_call() -> None:
    layer, x = torch.nn.Linear(4, 2), torch.randn(3, 4)
    wanted = layer(x)
    shapes: list[Any] = []

    def dynamic(given: Any) -> Any:
        shapes.append(given.shape)
        return {"input": {0: torch.export.Dim.AUTO}}

    layer.forward = _sticky_export(layer.forward, dynamic)  # type: ignore[method-assign]
    assert layer(x).equal(wanted) and layer(x[:2]).equal(wanted[:2]) and shapes == [x.shape]
    assert "torch.ops.aten.linear.default" in layer.forward._exported_artifact.code  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="a method of a module"):
        _sticky_export(len)
