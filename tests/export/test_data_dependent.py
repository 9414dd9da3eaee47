"""Sizes and conditions that hang on data: what an exported program holds of them, and refuses."""

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight import export as export_module, nn
from rushlight.export import Dim, export, unflatten
from rushlight.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    free_unbacked_symbols,
    guard_or_false,
    statically_known_true,
)
from tests.export import programs


def module(function):
    class Function(nn.Module):
        def forward(self, *args):
            return function(*args)

    return Function()


def targets(ep):
    return [str(n.target).rpartition(".")[0] for n in ep.graph.nodes if n.op == "call_function"]


def test_a_number_of_a_tensor_is_a_size():
    class Ones(nn.Module):
        def forward(self, n, x):
            size = n.item()
            torch._check(size >= 2)
            torch._check(size <= 5)
            return x[:size] + torch.zeros(size)

    ep = export(Ones(), (torch.tensor(3), torch.arange(5.0)))
    assert str(ep.range_constraints) == "{u0: VR[2, 5]}"
    assert [str(n.meta["val"].shape[0]) for n in ep.graph.nodes if n.name == "add"] == ["u0"]
    assert torch.equal(ep.module()(torch.tensor(4), torch.arange(5.0)), torch.arange(4.0))
    with pytest.raises(RuntimeError, match=r"Runtime assertion failed for expression u0 <= 5"):
        ep.module()(torch.tensor(6), torch.arange(5.0))


def test_sizes_that_hang_on_data():
    class Counted(nn.Module):
        def forward(self, x):
            found = x.nonzero()
            torch._check(found.shape[0] > 1)
            return found.sum(0) * found.shape[0], x[x > 0] * 2

    ep = export(Counted(), (torch.tensor([1.0, 0.0, 2.0, 3.0]),))
    assert str(ep.range_constraints) == "{u0: VR[2, 4], u1: VR[0, 4]}"
    for x in (torch.tensor([0.0, 1.0, 1.0, 0.0]), torch.ones(4)):
        for found, expected in zip(ep.module()(x), Counted()(x), strict=True):
            assert torch.equal(found, expected)


def test_a_branch_on_data_is_refused():
    def branch(x):
        n = x.item()
        return x + 1 if n > 4 else x - 1

    with pytest.raises(GuardOnDataDependentSymNode, match=r"expression u0 > 4 \(unhinted: u0 > 4\)"):
        export(module(branch), (torch.tensor(3),))


def test_what_is_asserted_decides():
    ep = export(module(programs.asserting(torch)), (torch.tensor(5),))
    assert ep.module()(torch.tensor(6)) == 7
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        ep.module()(torch.tensor(3))
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        ep.module()(torch.tensor(11))


def test_what_is_known_of_a_number():
    def asked(x):
        n = x.item()
        torch._check(n > 4)
        known = (
            statically_known_true(n > 3),
            guard_or_false(n > 7),
            {s.name for s in free_unbacked_symbols(n)},
        )
        assert known == (True, False, {"u0"}) and isinstance(n, torch.SymInt)
        return x + n

    assert export(module(asked), (torch.tensor(5),)).module()(torch.tensor(6)) == 12


def test_equations_between_numbers():
    def equal(x):
        a, b = x.tolist()
        torch._check(a + b == 7)
        return torch.zeros(a, b)

    ep = export(module(equal), (torch.tensor([3, 4]),))
    assert ep.module()(torch.tensor([5, 2])).shape == (5, 2)
    with pytest.raises(RuntimeError, match=r"expression Eq\(u0 \+ u1, 7\)"):
        ep.module()(torch.tensor([5, 3]))


def test_numbers_that_are_inputs():
    class Scaled(nn.Module):
        def forward(self, x, n):
            return x * n

    ep = export(Scaled(), (torch.ones(2), 3), dynamic_shapes=(None, Dim.DYNAMIC))
    assert torch.equal(ep.module()(torch.ones(2), 5), torch.full((2,), 5.0))


def test_both_branches_are_held():
    class Either(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x, y):
            return torch.cond(x.sum() > 0, lambda a: self.inner(a) + y, lambda a: a.cos(), (x,)) + 1

    mod, x = Either(), torch.ones(2, 3)
    ep = export(mod, (x, x))
    assert "torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x, " in ep.graph_module.code
    for given in (x, -x):
        assert torch.equal(ep.module()(given, x), mod(given, x))


def test_a_branch_on_a_size():
    class Sized(nn.Module):
        def forward(self, x):
            return torch.cond(x.shape[0] > 4, lambda a: a.sin(), lambda a: a.cos(), (x,))

    ep = export(Sized(), (torch.ones(3),), dynamic_shapes=({0: Dim.DYNAMIC},))
    assert torch.equal(ep.module()(torch.ones(6)), torch.ones(6).sin())
    assert torch.equal(ep.module()(torch.ones(4)), torch.ones(4).cos())


def test_loops():
    class Loop(nn.Module):
        def forward(self, i, x):
            return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))

    ep = export(Loop(), (torch.tensor(0), torch.ones(3)))
    assert torch.equal(ep.module()(torch.tensor(1), torch.ones(3))[1], torch.full((3,), 4.0))

    class Scan(nn.Module):
        def forward(self, start, x):
            return torch._higher_order_ops.scan(lambda c, a: (c + a, c * a), start, x)

    given = torch.ones(2), torch.arange(6.0).view(3, 2)
    ep = export(Scan(), given)
    for found, expected in zip(ep.module()(*given), Scan()(*given), strict=True):
        assert torch.equal(found, expected)

    class Mapped(nn.Module):
        def forward(self, x, y):
            return torch._higher_order_ops.map(lambda a, b: a + b, x, y)

    ep = export(Mapped(), (torch.ones(3, 2), torch.ones(2)), dynamic_shapes=({0: Dim.DYNAMIC}, None))
    assert torch.equal(ep.module()(torch.ones(5, 2), torch.ones(2)), torch.full((5, 2), 2.0))


def test_bounds_that_the_program_needs():
    class Short(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] <= 6 else x - 1

    with pytest.raises(
        torch._dynamo.exc.UserError, match=r"(?s)Not all values of n .*n = Dim\('n', min=3, max=6\)"
    ):
        export(Short(), (torch.ones(5),), dynamic_shapes=({0: Dim("n", min=3)},))


def test_decomposed_programs_write_nothing():
    class Writes(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(1)
            x[0].mul_(2)
            y = x.clone()
            flat = y.view(-1)
            flat.add_(self.count[0])
            y[1, 1:] = 7.0
            return y.sum() + x.sum(), flat

    mod = Writes()
    ep = export(mod, (torch.ones(2, 3),)).run_decompositions({})
    assert not [n for n in ep.graph.nodes if n.op == "call_function" and n.target._schema.is_mutable]
    assert list(ep.graph_signature.buffers_to_mutate.values()) == ["count"]
    assert list(ep.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    file = io.BytesIO()
    export_module.save(ep, file)
    file.seek(0)
    for program in (unflatten(ep), export_module.load(file).module(), ep.module()):
        given, expected = torch.ones(2, 3), torch.ones(2, 3)
        eager = Writes()
        for found, wanted in zip(program(given), eager(expected), strict=True):
            assert torch.equal(found, wanted)
        assert torch.equal(given, expected) and torch.equal(program.count, eager.count)


def test_a_tensor_of_plain_numbers_decides_nothing_by_data() -> None:
    class Checked(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.ops.aten._assert_async.msg(torch.tensor(True), "no")
            return x * 2 if torch.tensor(3.0) else x

    x = torch.ones(2)
    assert torch.export.export(Checked(), (x,)).module()(x).tolist() == [2, 2]


class Counted(torch.nn.Module):
    """A loop that goes on by a number of what it carries."""

    def forward(self, n: Any, x: Any) -> Any:
        def goes_on(n: Any, x: Any) -> Any:
            i = n.item()
            torch._check(i != 5)
            return i <= 9

        def body(n: Any, x: Any) -> Any:
            i = n.item()
            torch._check(i % 2 == 0)
            return n + 2, x + i

        return torch.while_loop(goes_on, body, (n, x + n.item()))


def test_numbers_of_what_a_loop_carries() -> None:
    given = torch.tensor([0]), torch.zeros(1)
    made = torch.export.export(Counted(), given)
    n, x = made.module()(*given)
    assert (n.item(), x.item()) == (10, 20)
    # What is asserted in a function is compared at each of its calls.
    with pytest.raises(RuntimeError, match=r"failed for expression Ne\(u\d, 5\)"):
        made.graph_module.while_loop_cond_graph_0(torch.tensor([5]), torch.zeros(1))
    with pytest.raises(RuntimeError, match=r"failed for expression Eq\(PythonMod\(u\d, 2\), 0\)"):
        made.graph_module.while_loop_body_graph_0(torch.tensor([5]), torch.zeros(1))
