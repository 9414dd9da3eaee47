"""What nodes of exported programs are: fake tensors, with symbolic numbers for sizes."""

from __future__ import annotations

import io
from typing import Any

import rushlight as torch
from rushlight._export.utils import _get_shape_env_from_gm
from rushlight._subclasses.fake_tensor import FakeTensor
from rushlight.export import Dim, export
from rushlight.fx.experimental.symbolic_shapes import CallMethodKey, ShapeEnv, free_symbols
from rushlight.utils._pytree import SequenceKey


class _Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        top, places = torch.topk(self.linear(x), 2)
        return torch.cat([top, top]), places


def _values(program: Any) -> dict[str, Any]:
    return {n.name: n.meta.get("val") for n in program.graph.nodes}


def test_nodes_are_fake_tensors_of_symbolic_sizes() -> None:
    program = export(_Twice(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b", max=20)}})
    values = _values(program)
    x, cat, topk = values["x"], values["cat"], values["topk"]
    assert isinstance(x, FakeTensor) and isinstance(cat, FakeTensor) and isinstance(topk[1], FakeTensor)
    (size,) = free_symbols(x)
    assert isinstance(x.shape[0], torch.SymInt) and x.shape[0].node.expr == size
    assert str(cat.shape) == f"torch.Size([2*{size}, 2])" and str(cat.numel()) == f"4*{size}"
    assert cat.size(1) == 2 and cat.stride() == (2, 1) and topk[1].dtype is torch.int64
    assert x.fake_mode is cat.fake_mode and x.shape[0].node.shape_env is x.fake_mode.shape_env
    assert program.range_constraints[x.shape[0].node.expr].upper == 20
    assert values["p_linear_weight"].shape == (5, 4) and values["p_linear_weight"].requires_grad


def test_what_is_done_with_them_later_is_no_part_of_the_program() -> None:
    program = export(_Twice(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim.AUTO}})
    before = len(program.graph.nodes)
    size = _values(program)["x"].shape[0]
    assert str(size * 2 + 1) == f"2*{size} + 1" and isinstance(size + 1, torch.SymInt)
    assert size.node.hint == 3 and size.node.has_hint() and size.node.maybe_as_int() is None
    assert len(program.graph.nodes) == before


def test_loaded_programs_have_them_too() -> None:
    program = export(_Twice(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b")}})
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = _values(torch.export.load(file))
    assert isinstance(loaded["x"], FakeTensor) and isinstance(loaded["x"].shape[0], torch.SymInt)
    assert str(loaded["cat"]) == str(_values(program)["cat"])


def test_a_shape_env_makes_symbols() -> None:
    env = ShapeEnv()
    symbol = env.create_symbol(5, None)
    size = env.create_symintnode(symbol, hint=5)
    assert isinstance(size, torch.SymInt) and env.var_to_val[symbol] == 5
    assert env.create_symbol(5, None) == symbol and env.create_symbol(1, None) == 1
    assert size > 3 and [str(g.expr) for g in env.guards] == [f"{symbol} > 3"]
    assert env.bound_sympy(size.node.expr).lower == 4
    unbacked = env.create_unbacked_symint()
    assert str(unbacked) == "u0" and not unbacked.node.has_hint()


def test_nodes_say_which_numbers_of_tensors_they_are_the_first_to_have() -> None:
    class Counts(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            n = x.sum().to(torch.int64).item()
            torch._check(n > 0)
            values, places = torch.unique(x, return_inverse=True)
            return torch.nonzero(x), torch.zeros(n), values[places]

    program = export(Counts(), (torch.ones(4),))
    bound = {
        str(n.target): n.meta["unbacked_bindings"]
        for n in program.graph.nodes
        if "unbacked_bindings" in n.meta
    }
    size = CallMethodKey("size"), SequenceKey(0)
    told = {name: list(found.values()) for name, found in bound.items()}
    assert told["aten.item.default"] == [()] and told["aten.nonzero.default"] == [size]
    assert [(SequenceKey(0), *size)] in told.values()
    assert program.module()(torch.tensor([1.0, 2, 2, 0]))[2].tolist() == [1, 2, 2, 0]
    env = _get_shape_env_from_gm(program.graph_module)
    assert env.unbacked_symint_counter == 3 and all(
        env.is_unbacked_symint(own) for found in bound.values() for own in found
    )


def test_a_program_of_fake_tensors_is_decomposed() -> None:
    with torch._subclasses.fake_tensor.FakeTensorMode() as mode, torch.device("meta"):
        x, layer = torch.rand(5, 2), torch.nn.Linear(2, 3)
        smaller = torch.export.export(layer, (x,)).run_decompositions()
        assert smaller.module()(x).shape == (5, 3)
    told = [n.meta["val"] for n in smaller.graph.nodes if "val" in n.meta]
    assert all(v.fake_mode is mode and v.device.type == "meta" for v in told)
    assert smaller.example_inputs[0][0] is x
