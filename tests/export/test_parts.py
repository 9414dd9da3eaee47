"""Functions of Python's and ops with functions in exported programs, and programs of TorchScript."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._export.converter import TS2EPConverter
from rushlight._higher_order_ops import InvokeQuant, invoke_quant_packed, while_loop_stack_output


class Of(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        """The function's result."""
        return self.function(*args)


def targets(program: Any) -> list[str]:
    """The ops of a program."""
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def test_max_and_min_of_tensors_are_ops() -> None:
    x, y = torch.tensor([4]), torch.tensor([5])
    program = torch.export.export(
        Of(lambda x, y: (max(x, y), min(x, y), max([x, y, 2]), min(3, x), max(2, 1))), (x, y)
    )
    ops = ["maximum.default", "minimum.default", "maximum.default", "clamp.default", "clamp.default"]
    assert targets(program) == [f"aten.{op}" for op in ops]
    assert program.module()(y, x) == (y, x, y, torch.tensor([3]), 2)
    with pytest.raises(torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode):
        torch.export.export(Of(lambda x, y: max(x, y, x)), (x, y))
    program = torch.export.export(Of(lambda x, y: max(t for t in (x, y))), (x, y))
    assert targets(program) == ["aten.maximum.default"]


def test_max_of_all_sizes_is_of_any_sizes() -> None:
    auto = torch.export.Dim.AUTO
    for largest in (lambda x: x + max(x.shape), lambda x: x + max(n for n in x.shape)):
        x = torch.zeros(3, 4)
        program = torch.export.export(Of(largest), (x,), dynamic_shapes={"args": ({0: auto, 1: auto},)})
        assert [program.module()(torch.zeros(n, 5))[0, 0].item() for n in (7, 2)] == [7, 5]


def test_loops_whose_steps_are_kept() -> None:
    def steps(x: Any, n: Any) -> Any:
        return while_loop_stack_output(
            lambda i, x, n: i < n, lambda i, x, n: (i + 1, x * 2), (n * 0, x), (n,)
        )

    x, n = torch.ones(2), torch.tensor(3)
    program = torch.export.export(Of(steps), (x, n))
    for times in (3, 5):
        counts, values = program.run_decompositions().module()(x, torch.tensor(times))
        assert counts.tolist() == list(range(1, times + 1))
        assert values[-1].tolist() == [2.0**times] * 2
    never = while_loop_stack_output(lambda x: False, lambda x: (x,), (x,), ())
    assert never[0].tolist() == [[1.0, 1.0]]
    (same,) = torch.ops.higher_order.while_loop(lambda x: False, lambda x: (x,), (x,), ())
    assert same.equal(x) and same.data_ptr() != x.data_ptr()


def test_parts_for_fewer_bits() -> None:
    def doubled(x: Any, y: Any) -> Any:
        return (torch.sin(x) * y,)

    x = torch.ones(3)
    program = torch.export.export(Of(lambda x: invoke_quant_packed(doubled, x, x)[0] * 2), (x,))
    assert targets(program)[0] == "higher_order.invoke_quant_packed"
    assert program.module()(x).equal(torch.sin(x) * 2)
    assert InvokeQuant(codegen_low_precision=False)(doubled, x, x, scheme="nf4")[0].equal(torch.sin(x))
    assert InvokeQuant()(doubled, x, y=x)[0].equal(torch.sin(x))


def test_converted_programs_are_of_any_sizes() -> None:
    scripted = torch.jit.script(torch.nn.Linear(3, 2))
    program = TS2EPConverter(scripted, (torch.ones(4, 3),)).convert()
    x = torch.randn(7, 3)
    assert program.module()(x).equal(scripted(x))


def test_programs_of_programs_keep_constants_and_conversions() -> None:
    class Held(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.t = torch.ones(2)

        def forward(self, x: Any) -> Any:
            return x.to(torch.float32) + self.t + torch.tensor([1.0, 2.0])

    x = torch.ones(2)
    program = torch.export.export(Held(), (x,))
    again = torch.export.export(program.module(), (x,))
    assert not dict(program.module().named_buffers())
    assert list(again.graph_signature.lifted_tensor_constants) == ["t", "lifted_tensor_0"]
    assert targets(again) == targets(program)


def test_errors_of_strict_export() -> None:
    def branches(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    def of_data(x: Any) -> Any:
        return x if x.nonzero().shape[0] > 2 else -x

    def refuses(x: Any) -> Any:
        raise ValueError("own")

    exc = torch._dynamo.exc
    for program, error, said in (
        (branches, exc.Unsupported, "Data-dependent branching"),
        (of_data, exc.UserError, "Consider annotating"),
        (refuses, exc.Unsupported, "raised exception ValueError"),
        (lambda x: {}["x"], exc.Unsupported, "raised exception KeyError"),
        (lambda x: x.unknown, exc.Unsupported, "raised exception AttributeError"),
        (lambda x: x[10], IndexError, "out of range"),
        (lambda x: x @ x, exc.TorchRuntimeError, "Dynamo failed to run FX node with fake tensors"),
    ):
        with pytest.raises(error, match=said):
            torch.export.export(Of(program), (torch.ones(2, 3),), strict=True)
    with pytest.raises(exc.UserError, match="not in range"):
        wide = {"args": ({0: torch.export.Dim("d", min=6)},)}
        torch.export.export(Of(lambda x: x), (torch.ones(2, 3),), dynamic_shapes=wide, strict=True)


def test_what_strict_export_itself_refuses_is_told_as_such() -> None:
    with pytest.raises(ValueError, match="Exporting a ScriptModule is not supported"):
        torch.export.export(torch.jit.script(torch.nn.ReLU()), (torch.ones(2),), strict=True)
