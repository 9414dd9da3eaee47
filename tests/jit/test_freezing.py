"""torch.jit.freeze: attributes become constants, layers are merged, and what changes stays."""

from __future__ import annotations

import io
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.testing import FileCheck


class Counting(nn.Module):
    """A layer that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.count = 0
        self.scale = 2.0

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.count += 1
        return self.linear(x) * self.scale + self.count


def test_attributes_become_constants_and_what_is_set_stays() -> None:
    module = torch.jit.script(Counting().eval())
    x = torch.randn(4, 3)
    frozen = torch.jit.freeze(module)
    handle = frozen._c
    assert handle.hasattr("count") and not handle.hasattr("linear") and not handle.hasattr("scale")
    assert not list(frozen.parameters()) and not hasattr(frozen, "training")
    assert torch.equal(frozen(x), module(x)) and torch.equal(frozen(x), module(x))
    assert not frozen(x).requires_grad
    file = io.BytesIO()
    torch.jit.save(frozen, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert torch.equal(loaded(x), frozen(x))


def test_what_is_changed_in_place_stays_and_what_shares_its_memory() -> None:
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.zeros(3)
            self.b = self.a[1:]
            self.c = torch.ones(3)

        def forward(self):  # type: ignore[no-untyped-def]
            self.a.view(-1)[1] += 1.0
            return self.b.sum() + self.c.sum()

    module = torch.jit.script(Changing().eval())
    handle = torch.jit.freeze(module)._c
    assert handle.hasattr("a") and handle.hasattr("b") and not handle.hasattr("c")


def test_names_to_preserve() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.two(self.one(x))

        @torch.jit.export
        def half(self, x):  # type: ignore[no-untyped-def]
            return self.one(x)

    module = torch.jit.script(Outer().eval())
    frozen = torch.jit.freeze(module, ["one.bias", "half"])
    x = torch.randn(2, 2)
    assert torch.equal(frozen.half(x), module.half(x))
    assert frozen._c.one.hasattr("bias") and not frozen._c.hasattr("two")
    frozen.one.bias.data.add_(1.0)
    assert torch.equal(frozen(x), module(x))  # values are shared
    with pytest.raises(RuntimeError, match="Unknown name: three"):
        torch.jit.freeze(module, ["three"])


@pytest.mark.parametrize("traced", [False, True])
def test_norms_and_arithmetic_go_into_convolutions(traced: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.drop = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5)
            self.offset = torch.rand(1, 4, 1, 1)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.drop(self.norm(self.conv(x) * 2.0 + self.offset)).relu()

    net = Net().eval()
    net.norm.running_mean.uniform_(-1, 1)
    x = torch.randn(2, 3, 8, 8)
    module: Any = torch.jit.trace(net, x) if traced else torch.jit.script(net)
    frozen = torch.jit.freeze(module)
    text = FileCheck().check("conv").check_not("aten::batch_norm").check_not("aten::mul")
    text.check_not("aten::add").check_not("aten::dropout").run(frozen.graph)
    assert torch.allclose(frozen(x), net(x), atol=1e-5)
    exact = torch.jit.freeze(module, optimize_numerics=False)
    FileCheck().check("conv").check("aten::batch_norm").run(exact.graph)
    assert torch.equal(exact(x), net(x))


def test_programs_that_cannot_be_frozen() -> None:
    class Itself(nn.Module):
        def forward(self):  # type: ignore[no-untyped-def]
            return self

    with pytest.raises(RuntimeError, match="return itself"):
        torch.jit.freeze(torch.jit.script(Itself().eval()))
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(torch.jit.script(Counting()))
    with pytest.raises(ValueError, match="expects a ScriptModule"):
        torch.jit.optimize_for_inference(Counting().eval())


def test_what_is_known_is_folded_and_what_nobody_reads_is_left_out() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        unused = torch.rand(3)
        unused += torch.rand(3)
        return x + (2 + 3)

    scripted = torch.jit.script(f)
    FileCheck().check("prim::Constant[value=5]").check_not("aten::rand").run(scripted.graph)
    assert scripted.graph is scripted.graph
    torch.manual_seed(0)
    scripted(torch.ones(1))
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1))
