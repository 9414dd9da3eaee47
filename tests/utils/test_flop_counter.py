"""torch.utils.flop_counter: PyTorch's numbers, recorded by record_flops.py; tables; formulas of one's own."""

import json
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.utils.flop_counter import FlopCounterMode, register_flop_formula
from rushlight.utils.flop_counter.module_tracker import ModuleTracker
from tests.utils.flop_programs import counted

RECORDED = json.loads((Path(__file__).parent.parent / "goldens" / "flops.json").read_text())
TABLE = """\
Module                           FLOP    % Total
----------------------------  -------  ---------
Sequential                    97.248K    100.00%
 - aten.convolution           31.104K     31.98%
 - aten.addmm                 11.680K     12.01%
 - aten.mm                    23.360K     24.02%
 - aten.convolution_backward  31.104K     31.98%"""


def test_counts():
    assert counted(torch) == RECORDED


def network():
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10), nn.Sequential(nn.Linear(10, 4))
    )


def test_table(capsys):
    net = network()
    with FlopCounterMode(depth=1) as counter:
        net(torch.randn(2, 3, 8, 8)).sum().backward()
    assert capsys.readouterr().out == TABLE + "\n"
    assert counter.get_table(1) == TABLE and counter.get_total_flops() == 97248
    with FlopCounterMode(depth=None, display=False) as counter:
        net(torch.randn(2, 3, 8, 8))
        torch.randn(300, 300) @ torch.randn(300, 300)
    lines = counter.get_table().splitlines()
    assert lines[2].split() == ["Global", "54.043M", "100.00%"] and lines[-2].startswith("   Sequential.4.0 ")
    with FlopCounterMode(display=False) as counter:
        pass
    assert counter.get_table().splitlines()[-1].split() == ["Global", "0", "0%"]


def test_own_formulas():
    @torch.library.custom_op("counted::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @register_flop_formula(torch.ops.counted.double)
    def formula(shape, *args, out_shape=None, **kwargs):
        return shape[0] * 100 + out_shape[1]

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.relu: lambda s, **k: 7}) as counter:
        torch.ops.counted.double(torch.ones(3, 4)).relu()
    assert list(counter.get_flop_counts()["Global"].values()) == [304, 7]
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_flop_formula(torch.ops.counted.double)(formula)
    with pytest.raises(ValueError, match="expected each target to be"):
        register_flop_formula(torch.relu)(formula)
    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(torch.nn.Linear(1, 1))


def test_module_tracker():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(("forward", sorted(tracker.parents), tracker.is_bw))
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(("backward", sorted(tracker.parents), tracker.is_bw))
            return grad

    class Inner(torch.nn.Module):
        def forward(self, x):
            return Watched.apply(x * 2)

    net = torch.nn.Sequential(Inner(), torch.nn.ReLU())
    with ModuleTracker() as tracker:
        x = torch.ones(2, requires_grad=True)
        (net(x * 1) + 1).sum().backward()
    own = ["Global", "Sequential", "Sequential.0"]
    assert seen == [("forward", own, False), ("backward", own, True)]
    assert tracker.parents == {"Global"} and not tracker.is_bw
    net(x)
    assert len(seen) == 3 and seen[2][1] == ["Global"]
