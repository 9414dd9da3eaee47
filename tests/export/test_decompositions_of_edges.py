"""Core decompositions at their edges, and programs that are taken apart twice."""

import rushlight as torch
from rushlight import nn
from rushlight.export import default_decompositions


class Edges(nn.Module):
    def forward(self, x):
        total = x.sum()
        return torch.stack([total, total * 2]), total.transpose(0, -1), nn.functional.silu(x)


def test_tensors_without_dims_and_half_precision():
    program = torch.export.export(Edges(), (torch.randn(3),))
    stacked, turned, _ = program.run_decompositions().module()(torch.ones(3))
    assert stacked.tolist() == [3, 6] and turned.item() == 3
    halves = torch.linspace(-9, 9, 4000).to(torch.bfloat16)
    opened = torch.export.export(nn.SiLU(), (halves,)).run_decompositions().module()
    assert opened(halves).equal(nn.functional.silu(halves))


def test_the_default_table_has_all_that_is_opened_without_one():
    program, table = torch.export.export(Edges(), (torch.randn(3),)), default_decompositions()
    assert torch.ops.aten.silu.default in table
    assert "silu" not in program.run_decompositions(table).graph_module.code
    table.pop(torch.ops.aten.silu.default)
    assert "silu" in program.run_decompositions(table).graph_module.code


def test_inputs_that_are_called_like_builtins_keep_their_names():
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, input, max):
            return self.norm(input) + max

    program = torch.export.export(Norm().train(), (torch.randn(4, 3), torch.randn(3))).run_decompositions()
    program.validate()
    assert [spec.arg.name for spec in program.graph_signature.input_specs][-2:] == ["input", "max"]


def test_losses_of_aten_take_reductions_as_numbers():
    x, y = torch.tensor([1.0, 2, 3]), torch.tensor([2.0, 2, 5])
    for name, term in (("mse_loss", (x - y) ** 2), ("l1_loss", (x - y).abs())):
        each, mean, total = (getattr(torch.ops.aten, name)(x, y, number) for number in range(3))
        assert each.equal(term) and mean.item() == term.mean().item() and total.item() == term.sum().item()
    assert torch.ops.aten.huber_loss(x, y, 0).shape == (3,)


def targets(function, *args):
    """What a decomposed program of the function calls."""
    model = type("Calls", (nn.Module,), {"forward": lambda self, *given: function(*given)})()
    program = torch.export.export(model, args).run_decompositions()
    torch.testing.assert_close(program.module()(*args), function(*args))
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def test_images_are_resized_and_sampled_by_the_ops_of_their_modes():
    image = torch.randn(1, 2, 3, 3)
    of = nn.functional.interpolate
    assert targets(lambda x: of(x, (8, 8), mode="bilinear"), image) == ["aten.upsample_bilinear2d.vec"]
    assert targets(lambda x: of(x, scale_factor=2.0), image) == ["aten.upsample_nearest2d.vec"]
    bicubic = targets(lambda x: of(x, scale_factor=2.0, mode="bicubic"), image)
    assert bicubic == ["aten.upsample_bicubic2d.default"]
    assert targets(lambda x: of(x, 6, mode="area"), image) == ["aten._adaptive_avg_pool2d.default"]
    grid = torch.zeros(1, 2, 2, 2)
    sampled = targets(lambda x, g: nn.functional.grid_sample(x, g, align_corners=False), image, grid)
    assert sampled == ["aten.grid_sampler_2d.default"]


def test_what_has_no_parts_of_pytorchs_stays_whole():
    square = torch.eye(3) * 2 + 1
    assert targets(torch.linalg.inv, square) == ["aten.linalg_inv.default"]
    assert targets(torch.fft.rfft, torch.randn(4)) == ["aten.fft_rfft.default"]
    assert targets(nn.functional.softsign, square) == [
        "aten.abs.default",
        "aten.add.Tensor",
        "aten.div.Tensor",
    ]
    assert targets(torch.max, square, square.T) == ["aten.maximum.default"]


def test_dropout_in_place_is_run_and_taken_apart():
    model = nn.Sequential(nn.Hardswish(inplace=True), nn.Dropout(0.2, inplace=True)).eval()
    x = torch.randn(2, 3)
    program = torch.export.export(model, (x.clone(),))
    wanted = nn.functional.hardswish(x)
    torch.testing.assert_close(program.module()(x.clone()), wanted)
    torch.testing.assert_close(program.run_decompositions().module()(x.clone()), wanted)


def test_writes_through_one_of_several_views_reach_the_tensor():
    def parts(x):
        y = x.clone()
        y.split(1)[0].add_(1)
        return y

    def windows(x):
        y = x.clone()
        y.unfold(0, 1, 2).add_(1)
        return y

    def below(x):
        y = x.clone()
        first, second = y.unbind(0)[:2]
        y.mul_(3)
        return first + second

    for function in (parts, windows, below):
        targets(function, torch.randn(3, 3))


def test_what_may_be_a_view_and_is_a_copy_is_written_into_alone():
    class Copies(nn.Module):
        def forward(self, x):
            y = x.clone()
            across, along = y.t().reshape(-1), y.flatten()
            across.add_(1)
            along[0] = 5
            y.split([1, 2])[1].mul_(2)
            return y, across, along

    x = torch.arange(6.0).view(3, 2)
    found = torch.export.export(Copies(), (x,)).run_decompositions().module()(x)
    for one, wanted in zip(found, Copies()(x), strict=True):
        assert one.equal(wanted)


def test_the_logarithm_of_sigmoid_is_an_op_and_core_ops():
    class Log(nn.Module):
        def forward(self, x):
            return nn.functional.logsigmoid(x)

    x = torch.tensor([-200.0, -1.0, 0.0, 30.0])
    program = torch.export.export(Log(), (x,))
    assert "torch.ops.aten.log_sigmoid.default" in program.graph_module.code
    core = program.run_decompositions()
    assert not {"log_sigmoid", "_logsigmoid"} & {
        n.target._opname for n in core.graph.nodes if n.op[:4] == "call"
    }
    torch.testing.assert_close(core.module()(x), Log()(x))
    halves = torch.linspace(-9, 9, 400).to(torch.bfloat16)
    assert torch.export.export(Log(), (halves,)).run_decompositions().module()(halves).equal(Log()(halves))
