"""What a program asks of sizes: found from one call, told as PyTorch tells it, held to at each call."""

from __future__ import annotations

from typing import Any

import pytest
from rushlight.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

import rushlight as torch
from rushlight._export.converter import TS2EPConverter
from rushlight.export import Dim, dims, export
from rushlight.export.errors import UserError
from rushlight.nn import functional as F

D, A = Dim.DYNAMIC, Dim.AUTO


def module(program: Any) -> Any:
    """A module whose forward is `program`."""

    class Module(torch.nn.Module):
        pass

    Module.forward = staticmethod(program)
    return Module()


def shapes(ep: Any) -> list[str]:
    return [str(tuple(n.meta["val"].shape)) for n in ep.graph.find_nodes(op="placeholder")]


def ones(*sizes: int) -> Any:
    return torch.ones(sizes)


def test_sizes_follow() -> None:
    after = export(module(lambda x, y: x + y[1:]), (ones(5), ones(6)), dynamic_shapes=((D,), (D,)))
    assert shapes(after) == ["(s77,)", "(s77 + 1,)"]
    assert str(after.range_constraints) == "{s77: VR[2, int_oo], s77 + 1: VR[3, int_oo]}"
    twice = export(module(lambda x, y: x.repeat(2) + y), (ones(5), ones(10)), dynamic_shapes=((D,), (D,)))
    assert shapes(twice) == ["(s77,)", "(2*s77,)"]
    assert twice.module()(ones(3), ones(6)).shape == (6,)
    with pytest.raises(AssertionError, match="Guard failed"):
        twice.module()(ones(3), ones(7))


def test_a_product_of_sizes() -> None:
    def flat(x: Any, y: Any) -> Any:
        return x.reshape(-1) + y

    ep = export(module(flat), (ones(5, 3), ones(15)), dynamic_shapes=((A, A), (A,)))
    assert ep.module()(ones(4, 2), ones(8)).shape == (8,)
    with pytest.raises(AssertionError, match="Guard failed"):
        ep.module()(ones(4, 2), ones(7))
    later = export(
        module(flat),
        (ones(5, 3), ones(15)),
        dynamic_shapes=((A, A), (A,)),
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression Eq"):
        later.module()(ones(4, 2), ones(7))


def test_what_is_suggested() -> None:
    def first(x: Any, y: Any, z: Any) -> Any:
        if x.shape[0] >= 5 and x.shape[0] <= 36 and y.shape[0] % 3 == 0:
            return x + y[1:] + z[3:]
        return x

    dx, dy, dz = dims("dx", "dy", "dz")
    given = {"x": (dx,), "y": (dy,), "z": (dz,)}
    with pytest.raises(UserError) as caught:
        export(module(first), (ones(11), ones(12), ones(14)), dynamic_shapes=given)
    told = str(caught.value)
    assert told == (
        'Constraints violated (dx, dy, dz)! For more information, run with TORCH_LOGS="+dynamic".\n'
        "  - The values of dy = L['y'].size()[0] must always be related to the values of dx = L['x'].size()[0] "
        "by dy = dx + 1.\n"
        "  - The values of dz = L['z'].size()[0] must always be related to the values of dx = L['x'].size()[0] "
        "by dz = dx + 3.\n"
        "  - Not all values of dx = L['x'].size()[0] in the specified range satisfy the generated guard "
        "((1 + L['x'].size()[0]) % 3) == 0.\n"
        "  - Not all values of dx = L['x'].size()[0] in the specified range satisfy the generated guard "
        "5 <= L['x'].size()[0] and L['x'].size()[0] <= 36\n"
        "Suggested fixes:\n  _dx = Dim('_dx', max=12)\n  dx = 3*_dx - 1\n  dy = 3*_dx\n  dz = 3*_dx + 2"
    )
    better = refine_dynamic_shapes_from_suggested_fixes(told, given)
    assert better["z"][0].fn(2) == 8
    assert better["x"][0].root.max == 12


@pytest.mark.parametrize(
    ("program", "inputs", "wanted"),
    [
        (lambda x: x[:6], (8,), "dx = Dim('dx', min=6)"),
        (lambda x: x[2], (7,), "dx = Dim('dx', min=3)"),
        (lambda x: x + torch.ones(4), (4,), "dx = 4"),
        (lambda x: x.view(-1, 3), (15,), "_dx = Dim('_dx', min=1, max=oo)\n  dx = 3*_dx"),
    ],
)
def test_bounds_that_are_asked(program: Any, inputs: tuple[int, ...], wanted: str) -> None:
    with pytest.raises(UserError) as caught:
        export(module(program), (ones(*inputs),), dynamic_shapes=((Dim("dx"),),))
    assert str(caught.value).endswith(f"Suggested fixes:\n  {wanted}")


def test_slices_that_end_where_data_say() -> None:
    ep = export(module(lambda n, y: y[: n.item()] + 1), (torch.tensor(5), ones(10)))
    for n in (3, -2, 100):
        assert ep.module()(torch.tensor(n), ones(10)).shape == ones(10)[:n].shape


def test_numbers_that_must_be_equal() -> None:
    def filled(xs: Any) -> Any:
        a, b = xs.tolist()
        return torch.zeros(a).expand(b)

    ep = export(module(filled), (torch.tensor([4, 4]),))
    assert ep.module()(torch.tensor([5, 5])).shape == (5,)
    with pytest.raises(RuntimeError, match=r"Eq\(u0, u1\)"):
        ep.module()(torch.tensor([4, 5]))


def test_assertions_stay_in_decomposed_programs() -> None:
    def repeated(x: Any, y: Any) -> Any:
        n = y.item()
        torch._check(n >= 3)
        torch._check(y.item() <= 6)
        return x.repeat(n)

    ep = export(module(repeated), (ones(2), torch.tensor(5))).run_decompositions()
    assert [str(n.target) for n in ep.graph.nodes].count("aten.item.default") == 1
    assert ep.module()(ones(2), torch.tensor(4)).shape == (8,)
    for n in (2, 7):
        with pytest.raises(RuntimeError, match="Runtime assertion failed"):
            ep.module()(ones(2), torch.tensor(n))


def test_what_the_framework_gives_ops_is_no_constant() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    split = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2, stride=2), torch.nn.Flatten(2))
    for made, given, other in (
        (layer, torch.randn(4, 5, 8), torch.randn(3, 5, 8)),
        (split, torch.randn(4, 1, 4, 4), torch.randn(3, 1, 4, 4)),
    ):
        ep = export(made, (given,), dynamic_shapes=({0: Dim("b", min=2, max=64)},))
        for program in (ep, ep.run_decompositions()):
            torch.testing.assert_close(program.module()(other), made(other))


def later(x: Any) -> Any:
    """A tensor of an op that has no rule: its sizes are told by further records."""
    return torch.nn.functional.pad(x, (0, 0, 1, 0))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.view(*x.shape[:-1], 2, 4),
        lambda x: torch.cat([x.new_zeros(x.shape[0], 1, 8), x], 1),
        lambda x: x.reshape(x.shape[0], x.shape[1] // 2, 16),
        lambda x: x[:, : x.shape[1] // 2] + x[:, x.shape[1] // 2 :],
        lambda x: x[:, :, None].expand(x.shape[0], x.shape[1], 2, 8).flatten(1, 2),
        lambda x: x.split(x.shape[1] // 2, 1)[1],
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.unflatten(1, (-1, 2)),
        lambda x: x.reshape(later(x).shape[0] * (later(x).shape[1] - 1), 8),
        lambda x: x[:, :, None].expand(later(x).shape[0], -1, 3, 8),
        lambda x: x.split([1, later(x).shape[1] - 2], 1)[1],
        lambda x: torch.zeros(later(x).shape[0], x.shape[1], 8) + x,
        lambda x: torch.nn.functional.avg_pool1d(x.mT, x.shape[1] // 2),
        lambda x: torch.nn.functional.adaptive_avg_pool1d(x.mT, later(x).shape[1] - 1) + x.mT,
        lambda x: torch.nn.functional.layer_norm(x, (later(x).shape[1] - 1, 8)) + x,
    ],
)
def test_sizes_that_programs_ask_for_are_no_constants(program: Any) -> None:
    made, other = module(program), torch.randn(3, 10, 8)
    ep = export(made, (torch.randn(2, 6, 8),), dynamic_shapes=({0: A, 1: A},))
    for told in (ep, ep.run_decompositions()):
        torch.testing.assert_close(told.module()(other), made(other))


def test_branches_ask_for_a_number_twice() -> None:
    def program(p: Any, n: Any, x: Any) -> Any:
        return torch.cond(
            p, lambda n, x: x + n.item() + n.item(), lambda n, x: x - n.item(), (n, x)
        ), n.item()

    ep = export(
        module(program), (torch.tensor(True), torch.tensor(3), ones(4)), dynamic_shapes=(None, None, (D,))
    )
    found, number = ep.module()(torch.tensor(True), torch.tensor(2), ones(6))
    assert (found.tolist(), number) == ([5.0] * 6, 2)


def test_sizes_of_nested_tensors_are_of_no_record() -> None:
    nested = torch.nested.nested_tensor([ones(2, 3), ones(4, 3)], layout=torch.jagged)
    assert isinstance(nested.shape[1], torch.SymInt)
    ep = export(module(lambda x: (x.sum(), torch.zeros(2) + x.shape[1])), (nested,))
    assert [n.name for n in ep.graph.nodes] == ["x", "sum_1", "zeros", "add", "output"]


def test_all_operands_of_a_stack_are_alike() -> None:
    stack, named = module(lambda x, y, z: torch.stack([x, y, z])), {0: Dim("a")}
    with pytest.raises(UserError, match=r"L\['y'\].size\(\)\[0\] and a = .* must always be equal"):
        export(stack, (ones(4), ones(4), ones(4)), dynamic_shapes=(named, {0: Dim("b")}, named))


def test_sizes_to_record_at_are_within_bounds() -> None:
    def windows(x: Any) -> Any:
        parts = x.view(x.shape[0], x.shape[1] // 2, 2, 4)
        return parts.transpose(1, 2).reshape(x.shape[0], 2, -1)

    ep = export(module(windows), (torch.randn(2, 8, 4),), dynamic_shapes=({0: A, 1: A},))
    for program in (ep, ep.run_decompositions()):
        assert program.module()(torch.randn(5, 6, 4)).shape == (5, 2, 12)


class Counter(torch.nn.Module):
    """A buffer and a list of tensors that the call replaces."""

    count: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2), persistent=False)
        self.parts = [torch.ones(2)]

    def forward(self, x: Any) -> Any:
        before = self.count + self.parts[0]
        self.count = before + 1
        self.parts[0] = torch.zeros(2)
        return x + before


def test_buffers_that_are_replaced() -> None:
    counter = Counter()
    with pytest.warns(UserWarning, match=r"attribute self.parts\[0\] was assigned"):
        ep = export(counter, (ones(2),)).run_decompositions({})
    assert list(ep.graph_signature.buffers_to_mutate.values()) == ["count"]
    assert counter.count.tolist() == [0, 0]
    assert counter.parts[0].tolist() == [1, 1]
    again = ep.module()
    assert [again(ones(2)).tolist() for _ in range(2)] == [[2, 2], [4, 4]]


def test_scripts_become_programs() -> None:
    scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    ep = TS2EPConverter(scripted, (ones(1, 2),)).convert()
    assert list(ep.state_dict) == ["0.weight", "0.bias"]
    assert torch.equal(ep.module()(ones(3, 2)[:1]), scripted(ones(1, 2)))


def test_static_bounds() -> None:
    with pytest.raises(ValueError, match=r"range of \[6, 8\], conflicting with the inferred .*\[4, 4\]"):
        export(module(lambda x: x + 1), (ones(4),), dynamic_shapes=((Dim.STATIC(min=6, max=8),),))


class _Resampled(torch.nn.Module):
    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = F.interpolate(x, **self.how)
        return z + y[:, :, : z.shape[-2], : z.shape[-1]]


@pytest.mark.parametrize(
    "how",
    [
        {"scale_factor": 0.5, "mode": "area"},
        {"scale_factor": 1.5, "mode": "area"},
        {"scale_factor": 1.5, "mode": "nearest", "recompute_scale_factor": True},
        {"scale_factor": 0.7, "mode": "bilinear"},
        {"scale_factor": 2.0, "mode": "bicubic"},
    ],
)
def test_a_resampled_size_beside_another(how: dict[str, Any]) -> None:
    module, auto = _Resampled(**how), torch.export.Dim.AUTO

    def inputs(h: int, w: int) -> tuple[torch.Tensor, torch.Tensor]:
        by = how["scale_factor"]
        return torch.randn(2, 3, h, w), torch.randn(2, 3, int(h * by), int(w * by))

    shapes = ({2: auto, 3: auto}, {2: auto, 3: auto})
    program = torch.export.export(module, inputs(8, 10), dynamic_shapes=shapes).module()
    for h, w in ((8, 10), (9, 10), (11, 13), (12, 12)):
        given = inputs(h, w)
        torch.testing.assert_close(program(*given), module(*given))


def test_what_only_sizes_that_change_together_tell() -> None:
    """A number that the framework's own Python has of a size, where the size does not change alone."""

    class Pooled(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return F.adaptive_max_pool1d(x, [None]) + y[:, : x.shape[1]]

    given = (torch.randn(3, 8), torch.randn(3, 8))
    auto = torch.export.Dim.AUTO
    program = torch.export.export(Pooled(), given, dynamic_shapes=({1: auto}, {1: auto})).module()
    for n in (8, 9, 17):
        x, y = torch.randn(3, n), torch.randn(3, n)
        torch.testing.assert_close(program(x, y), Pooled()(x, y))


def test_the_default_table_keeps_upsampling_whole() -> None:
    class Upsampled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.interpolate(x, scale_factor=2, mode="bilinear")

    program = torch.export.export(Upsampled(), (torch.ones(1, 1, 2, 2),))
    for table in (None, torch.export.default_decompositions()):
        code = program.run_decompositions(table).graph_module.code
        assert "aten.upsample_bilinear2d.vec" in code


def test_sizes_by_broken_factors_are_not_guessed_when_ops_are_taken_apart() -> None:
    class Upsampled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.interpolate(F.interpolate(x, scale_factor=0.3, mode="bicubic"), scale_factor=2.5)

    auto = torch.export.Dim.AUTO
    program = torch.export.export(
        Upsampled(), (torch.ones(1, 2, 8, 10),), dynamic_shapes=({2: auto, 3: auto},)
    )
    module = program.run_decompositions().module()
    for h, w in ((8, 10), (9, 7), (33, 17)):
        x = torch.randn(1, 2, h, w)
        torch.testing.assert_close(module(x), Upsampled()(x))


class OfCondition(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        large = x.shape[0] > 4
        whole = x + torch.full((4,), large) + torch.scalar_tensor(large) + torch.sym_ite(large, 2, 3)
        return whole, (x > 1) * large


def test_conditions_of_sizes_are_numbers_for_ops() -> None:
    program = export(OfCondition(), (torch.ones(6, 4),), dynamic_shapes=({0: Dim("n", min=2)},))
    code = program.graph_module.code
    assert "aten.full.default([4], gt," in code and "aten.scalar_tensor.default(gt," in code
    assert "torch.sym_ite(gt, 2, 3)" in code
    for n in (3, 4, 5, 9):
        found = program.module()(x := torch.full((n, 4), 2.0))
        assert [t.dtype for t in found] == [torch.float32, torch.bool]
        assert all(a.equal(b) for a, b in zip(found, OfCondition()(x), strict=True))


def test_a_condition_as_an_int_is_decided() -> None:
    class Times(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * int(x.shape[0] > 4)

    with pytest.raises(UserError, match=r"(?s)Constraints violated \(n\).*n = Dim\('n', min=5\)"):
        export(Times(), (torch.ones(6, 4),), dynamic_shapes=({0: Dim("n", min=2)},))


def test_what_dynamo_exports_has_no_guards() -> None:
    graph, _ = torch._dynamo.export(lambda x: x.sin() * 2)(torch.ones(2, 2))
    assert graph(torch.zeros(1)).tolist() == [0.0]
