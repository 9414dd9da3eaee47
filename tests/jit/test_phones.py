"""Models that carry examples of their inputs, and models made ready to be run only."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
from rushlight.utils import bundled_inputs as bundled
from rushlight.utils.mobile_optimizer import (
    MobileOptimizerType,
    generate_mobile_module_lints,
    optimize_for_mobile,
)


class Formats(torch.nn.Module):
    def forward(self, x, note: str):
        return x, note

    @torch.jit.export
    def other(self, x):
        return x


def loaded(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file), len(file.getvalue())


def test_examples_are_kept_small_and_come_back():
    model = torch.jit.script(Formats())
    big = torch.ones(4, 8, 32, 32).contiguous(memory_format=torch.channels_last)
    grown = bundled.InflatableArg(
        value=torch.ones(1), fmt_fn="def {}(self, x: Tensor):\n    return x.repeat(3)\n"
    )
    samples = [(torch.tensor([1]), "a"), (big, "b"), (bundled.bundle_randn(1 << 16), "c"), (grown, "d")]
    made = bundled.bundle_inputs(
        model, {model.forward: samples, model.other: [(torch.zeros(9),)]}, {model.forward: ["one"]}
    )
    assert not hasattr(model, "get_all_bundled_inputs")
    found, size = loaded(made)
    assert size < 24000
    inputs = found.get_all_bundled_inputs()
    assert found.get_num_bundled_inputs() == 4
    assert [note for _, note in inputs] == ["a", "b", "c", "d"]
    assert torch.equal(inputs[1][0], big)
    assert inputs[1][0].stride() == big.stride()
    assert inputs[2][0].shape == (1 << 16,)
    assert abs(inputs[2][0].std().item() - 1) < 0.05
    assert inputs[3][0].tolist() == [1.0, 1.0, 1.0]
    assert found.get_all_bundled_inputs_for_other()[0][0].numel() == 9
    assert found.get_bundled_inputs_functions_and_info()["forward"] == {
        "info": ["one"],
        "get_inputs_function_name": ["get_all_bundled_inputs_for_forward"],
    }
    again = bundled.bundle_inputs(found, [(torch.zeros(1), "x")])
    assert again.get_all_bundled_inputs() == [(torch.zeros(1), "x")]


def test_what_cannot_be_kept_is_told():
    model = torch.jit.script(Formats())
    with pytest.raises(Exception, match="Only ScriptModule is supported"):
        bundled.bundle_inputs(Formats(), [])
    with pytest.raises(Exception, match=r"'deflated\[0\]\[0\]' is a tensor with storage size 65536"):
        bundled.bundle_inputs(model, [(torch.randn(1 << 16), "x")])
    with pytest.raises(TypeError, match="idx: 0 is not a Tuple or a List"):
        bundled.bundle_inputs(model, [torch.ones(1)])
    with pytest.raises(RuntimeError, match="Could not cast attribute '_bundled_inputs_deflated_forward'"):
        bundled.bundle_inputs(model, [(torch.ones(1), 3)])
    with pytest.raises(Exception, match="at least 1 function"):
        bundled.bundle_inputs(model, {})
    once = bundled.bundle_inputs(model, [(torch.ones(1), "x")])
    with pytest.raises(Exception, match="only be augmented with bundled inputs once"):
        bundled.augment_model_with_bundled_inputs(once, [(torch.ones(1), "x")])


class Sums(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)
        self.drop = torch.nn.Dropout()

    def forward(self, x):
        y = self.drop(self.norm(self.conv(x)))
        return torch.relu(y + y)

    @torch.jit.export
    def unused(self):
        return 1


def test_a_model_is_merged_for_running():
    script = torch.jit.script(Sums()).eval()
    x = torch.randn(1, 1, 5, 5)
    wanted = script(x)
    made = optimize_for_mobile(script)
    assert made.mobile_optimized
    assert not hasattr(made, "unused")
    assert torch.allclose(made(x), wanted, atol=1e-5)
    text = str(made.graph)
    assert "aten::_add_relu" in text
    assert not any(op in text for op in ("aten::batch_norm", "aten::dropout", "aten::add("))
    kept = optimize_for_mobile(script, {MobileOptimizerType.CONV_BN_FUSION}, ["unused"])
    assert "aten::batch_norm" in str(kept.graph)
    assert kept.unused() == 1
    found, _ = loaded(made)
    assert found.mobile_optimized
    with pytest.raises(AttributeError, match="do not exist in script_module: nope"):
        optimize_for_mobile(script, preserved_methods=["nope"])
    with pytest.raises(TypeError, match="ScriptModule is expected"):
        optimize_for_mobile(Sums())


def test_examples_stay_in_a_merged_model():
    model = bundled.bundle_inputs(torch.jit.script(Formats()), [(torch.ones(1), "x")])
    assert optimize_for_mobile(model).get_all_bundled_inputs() == [(torch.ones(1), "x")]


def test_what_to_change_is_told():
    model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()))
    names = [point["name"] for point in generate_mobile_module_lints(model)]
    assert names == ["BUNDLED_INPUT", "REQUIRES_GRAD", "REQUIRES_GRAD", "DROPOUT"]


def test_a_copy_of_another_class_lacks_methods():
    model = torch.jit.script(Formats())
    made = torch._C._hack_do_not_use_clone_module_with_class(model._c, ["other"], [])
    assert not hasattr(made, "other")
    assert hasattr(made, "forward")
    assert made.qualified_name != model._c.qualified_name
    with pytest.raises(RuntimeError, match="Attribute 'conv' is not cloned"):
        torch._C._hack_do_not_use_clone_module_with_class(torch.jit.script(Sums())._c, [], ["conv"])
