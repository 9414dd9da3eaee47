"""Parts of exported programs in another grad mode, or in autocast."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch


class Modes(torch.nn.Module):
    """Parts in modes of their own, one of them within another."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    @torch.no_grad()
    def apart(self, x: Any) -> Any:
        return self.linear(x)

    def forward(self, x: Any) -> Any:
        with torch.enable_grad():
            x = x * 2
        with torch.no_grad():
            y = self.linear(x)[: x.shape[0] - 1] + 1
        with torch.autocast("cpu", torch.bfloat16):
            z = x @ x.T
            with torch.no_grad():
                z = z.relu()
        return y, z, self.apart(x)


def exported() -> Any:
    return torch.export.export(
        Modes(), (torch.randn(4, 2),), dynamic_shapes={"x": {0: torch.export.Dim("n")}}
    )


def ops(made: Any) -> list[str]:
    return [str(n.target) for n in made.graph.nodes if n.op == "call_function" and "wrap" in str(n.target)]


GRAD, AUTOCAST = "higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast"


def test_parts_are_graphs_of_their_own() -> None:
    made = exported()
    assert ops(made) == [GRAD, AUTOCAST, GRAD]
    first = made.graph_module.submod_1
    assert [str(n.target) for n in first.graph.nodes if n.op == "call_function"][0] == "aten.linear.default"
    x = torch.randn(6, 2)
    module = made.module()
    y, z, apart = module(x)
    assert (y.shape, z.shape, z.dtype) == ((5, 2), (6, 6), torch.bfloat16)
    assert (y.requires_grad, apart.requires_grad) == (False, False)
    file = io.BytesIO()
    torch.export.save(made, file)
    file.seek(0)
    again = torch.export.load(file)
    assert ops(again) == ops(made)
    assert again.module()(x)[1].equal(z)
    assert torch.export.unflatten(made)(x)[0].equal(y)


def test_the_mode_outside_is_no_part() -> None:
    with torch.no_grad():
        made = exported()
    assert ops(made) == [GRAD, AUTOCAST]
    assert str(made.graph_module.submod_1.graph.output_node().args[0][0].target) == "aten.mul.Tensor"
    assert next(n for n in made.graph.nodes if str(n.target) == GRAD).args[0] is True


def test_recorded_again() -> None:
    made = exported()
    assert ops(torch.export.export(made.module(), (torch.randn(4, 2),))) == ops(made)
    apart = made.run_decompositions({})
    assert ops(apart) == []
    assert [str(n.target) for n in apart.graph.nodes].count("aten._to_copy.default") == 2
    x = torch.randn(3, 2)
    for found, wanted in zip(apart.module()(x), made.module()(x), strict=True):
        assert found.dtype is wanted.dtype
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["aten::sin", "aten::add.Tensor"])
def test_names_of_overloads(name: str) -> None:
    space, _, own = name.partition("::")
    op, _, overload = own.partition(".")
    assert getattr(getattr(getattr(torch.ops, space), op), overload or "default")._name == name


class Set(torch.nn.Module):
    """A module whose mode is set by calls, which leave nothing behind, and by contexts beside them."""

    def forward(self, x: Any) -> Any:
        torch.set_grad_enabled(False)
        with torch.no_grad():
            y = x * 2
        y = y - 1
        torch.set_grad_enabled(True)
        z = x / 3
        with torch.no_grad():
            y = y + 1
            with torch.enable_grad():
                z = z * x
            return y.relu(), z


def test_a_mode_that_is_set_holds_until_it_is_set_back() -> None:
    made = torch.export.export(Set(), (torch.ones(2),))
    assert ops(made) == [GRAD, GRAD, GRAD]
    inner = [str(n.target) for n in made.graph_module.submod_1.graph.nodes if n.op == "call_function"]
    assert inner == ["aten.mul.Tensor", "aten.sub.Tensor"]
    y, z = made.module()(torch.ones(2, requires_grad=True))
    assert (y.requires_grad, z.requires_grad) == (False, True)


class Stopped(torch.nn.Module):
    """Gradients stop at four places."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: Any) -> Any:
        y = x * self.weight
        z = (x * self.weight).detach_()
        return y.detach() * x, y.data + z, torch.autograd.Variable(y) - self.weight


def test_gradients_stop_where_the_program_detaches() -> None:
    made = torch.export.export(Stopped(), (torch.ones(2),))
    targets = [str(n.target) for n in made.graph.nodes]
    assert (targets.count("aten.detach.default"), targets.count("aten.detach_.default")) == (3, 1)
    module, x = made.module(), torch.tensor([2.0, 3.0], requires_grad=True)
    first, second, third = module(x)
    assert not second.requires_grad
    (first.sum() + third.sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 3.0]
    assert module.weight.grad.tolist() == [-1.0, -1.0]
    told = [str(n.target) for n in made.run_decompositions().graph.nodes]
    assert told.count("aten.alias.default") == 3


class Ordered(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.contiguous(), x.t().contiguous(), x[None, None].contiguous(memory_format=torch.channels_last)


def test_a_copy_in_another_order() -> None:
    made = torch.export.export(Ordered(), (torch.arange(6.0).view(2, 3),))
    copies = [n for n in made.graph.nodes if str(n.target) == "aten.contiguous.default"]
    assert [dict(n.kwargs) for n in copies] == [{}]
    x = torch.randn(2, 3)
    assert made.module()(x)[1].equal(x.t())
    assert "aten.clone.default" in [str(n.target) for n in made.run_decompositions().graph.nodes]


class Writing(torch.nn.Module):
    """A module whose call changes its own weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            self.first.data = self.first * 2
            self.second.mul_(3)
            self.third.data.clamp_(max=0.5)
        return x * self.first * self.second * self.third


def test_export_leaves_the_weights_as_they_are() -> None:
    module = Writing()
    places = [p.data_ptr() for p in module.parameters()]
    torch.export.export(module, (torch.ones(2),))
    assert [p.tolist() for p in module.parameters()] == [[1.0, 1.0]] * 3
    assert [p.data_ptr() for p in module.parameters()] == places


class Replacing(torch.nn.Module):
    """A module whose call registers another weight and another submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.act = torch.nn.Parameter(torch.ones(2)), torch.nn.ReLU()

    def forward(self, x: Any) -> Any:
        self.weight, self.act = torch.nn.Parameter(self.weight * 2), torch.nn.Sigmoid()
        return self.act(x * self.weight)


def test_export_leaves_what_is_registered_as_it_is() -> None:
    module = Replacing()
    weight, act = module.weight, module.act
    torch.export.export(module, (torch.ones(2),))
    assert module.weight is weight
    assert module.act is act
    assert weight.tolist() == [1.0, 1.0]


class Apart(torch.nn.Module):
    """A module whose whole call is in a mode of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    @torch.no_grad()
    def forward(self, x: Any) -> Any:
        return self.linear(x) * 2


def test_a_decorated_forward_is_in_its_mode() -> None:
    made = torch.export.export(Apart(), (torch.ones(3, 2),))
    assert ops(made) == [GRAD]
    assert not made.module()(torch.ones(3, 2)).requires_grad
    made = torch.export.export(torch.nn.Sequential(Apart(), torch.nn.Linear(2, 2)), (torch.ones(3, 2),))
    assert ops(made) == [GRAD]
    assert made.module()(torch.ones(3, 2)).requires_grad


def test_parts_in_modes_are_called_as_by_pytorch() -> None:
    class Modes(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            torch._C._set_grad_enabled(False)
            u = (x.sin() + x).exp()
            torch._C._set_grad_enabled(True)
            with torch.no_grad():
                z = u + 1
                w = z * 2
            return u.cos(), w, z

    made = torch.export.export(Modes(), (torch.ones(2),))
    lines = [line.strip() for line in made.graph_module.code.strip().split("\n")[1:]]
    call = "torch.ops.higher_order.wrap_with_set_grad_enabled"
    assert lines[:3] == [
        "submod_5 = self.submod_1",
        f"exp = {call}(False, submod_5, x);  submod_5 = x = None",
        "getitem = exp[0];  exp = None",
    ]
    assert lines[3] == "submod_6 = self.submod_3"
    assert lines[5:7] == [
        "mul = wrap_with_set_grad_enabled[0]",
        "add_1 = wrap_with_set_grad_enabled[1];  wrap_with_set_grad_enabled = None",
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_what_a_part_in_autocast_is_given(strict: bool) -> None:
    class Cast(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            with torch.autocast("cpu"):
                return x @ x

    made = torch.export.export(Cast(), (torch.ones(2, 2),), strict=strict)
    call = next(n for n in made.graph.nodes if "autocast" in str(n.target))
    assert call.args[:4] == (("cpu", None, True, None) if strict else ("cpu", torch.bfloat16, True, False))
    assert call.name == "matmul"
