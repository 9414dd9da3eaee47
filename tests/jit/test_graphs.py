"""A graph's nodes and values, as counters of operations read them; recorded from PyTorch."""

from __future__ import annotations

import rushlight as torch
from rushlight import nn


class Net(nn.Module):
    """A convolution and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv(x))
        return self.linear(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1))


def _scoped(module: nn.Module, name: str) -> None:
    def push(module: nn.Module, inputs: object) -> None:
        torch._C._get_tracing_state().push_scope(name)

    def pop(module: nn.Module, inputs: object, outputs: object) -> None:
        torch._C._get_tracing_state().pop_scope()

    module.register_forward_pre_hook(push)
    module.register_forward_hook(pop)


def test_a_trace_with_its_state_as_inputs() -> None:
    net = Net()
    for name, module in net.named_modules():
        _scoped(module, name)
    graph, out = torch.jit._get_trace_graph(net, (torch.ones(2, 3, 8, 8),))
    ops = [n for n in graph.nodes() if n.kind().startswith("aten::")]
    assert [(n.kind(), n.scopeName()) for n in ops] == [
        ("aten::_convolution", "/conv"),
        ("aten::relu", ""),
        ("aten::adaptive_avg_pool2d", ""),
        ("aten::flatten", ""),
        ("aten::linear", "/linear"),
    ]
    assert [v.type().sizes() for v in graph.inputs()] == [[2, 3, 8, 8], [4, 3, 3, 3], [4], [2, 4], [2]]
    convolution = ops[0]
    values = list(convolution.inputs())
    assert values[1].type().sizes() == [4, 3, 3, 3] and values[6].toIValue() is False
    assert (values[3].node().kind(), str(values[3].type())) == ("prim::ListConstruct", "List[int]")
    assert convolution.output().type().sizes() == [2, 4, 6, 6]
    assert convolution.output().type().scalarType() == "Float"
    assert convolution.schema().startswith("aten::_convolution(Tensor input, Tensor weight")
    assert out.shape == (2, 2) and [v.debugName() for v in graph.outputs()] == [ops[-1].output().debugName()]


def test_a_script_read_by_its_nodes() -> None:
    @torch.jit.script
    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        if n > 1:
            x = x + 1
        for i in range(n):
            x = x * i
        return x

    graph = program.graph
    found = graph.findNode("prim::If")
    assert found is not None and [sum(1 for _ in b.nodes()) for b in found.blocks()] == [1, 0]
    assert [n.kind() for n in graph.findAllNodes("aten::mul")] == ["aten::mul"]
    assert graph.findAllNodes("aten::mul", recurse=False) == []
    assert isinstance(next(graph.inputs()).type(), torch._C.TensorType)
    constant = graph.findNode("prim::Constant")
    assert (constant.kindOf("value"), constant.i("value"), constant.output().toIValue()) == ("i", 1, 1)
    assert torch._C.ListType(torch._C.IntType.get()) == torch._C.ListType.ofInts()


def test_norm_takes_one_dim_by_name() -> None:
    @torch.jit.script
    def lengths(x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.norm(x, dim=dim)

    assert lengths(torch.tensor([[3.0, 4.0]]), 1).tolist() == [5.0]
