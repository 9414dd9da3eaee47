"""What compile() makes of modules and classes is a module, and a class, to all who look at it."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest

import rushlight as torch
from rushlight.optim.swa_utils import AveragedModel

Make = Any


def _model() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())


@pytest.mark.parametrize("make", [torch.compile, torch.compiler.disable])
def test_copies_are_modules_of_their_own(make: Make) -> None:
    x, compiled = torch.randn(2, 3), make(_model())
    wanted = compiled(x)
    other = copy.deepcopy(compiled)
    assert other._orig_mod is not compiled._orig_mod
    assert other(x).equal(wanted)
    with torch.no_grad():
        other._orig_mod[0].weight.zero_()
    assert not other(x).equal(wanted)
    assert compiled(x).equal(wanted)


def test_averaged_model() -> None:
    compiled = torch.compile(_model())
    averaged = AveragedModel(compiled)
    averaged.update_parameters(compiled)
    x = torch.randn(2, 3)
    assert averaged(x).equal(compiled(x))
    assert "module._orig_mod.0.weight" in averaged.state_dict()


def test_saved_whole() -> None:
    compiled: Any = torch.compile(_model(), backend="eager")
    file = io.BytesIO()
    torch.save(compiled, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    x = torch.randn(2, 3)
    assert type(loaded) is type(compiled) and loaded(x).equal(compiled(x))


@pytest.mark.parametrize("make", [torch.compile, torch.compiler.disable])
def test_hooks_are_its_own(make: Make) -> None:
    model = _model()
    compiled, x = make(model), torch.randn(2, 3)
    handle = compiled.register_forward_hook(lambda module, given, found: found * 0)
    for _ in range(6):
        assert compiled(x).equal(torch.zeros(2, 3))
    assert not model(x).equal(torch.zeros(2, 3))
    handle.remove()
    assert compiled(x).equal(model(x))


def test_attributes_are_the_originals() -> None:
    model = _model()
    compiled: Any = torch.compile(model)
    model.eval()
    assert not compiled.training
    compiled.train()
    assert model.training
    compiled.note = 3
    assert getattr(model, "note") == 3
    del compiled.note
    assert not hasattr(model, "note") and not hasattr(compiled, "note")
    assert len(compiled) == 2
    with pytest.raises(TypeError, match="Linear does not support len()"):
        len(torch.compile(torch.nn.Linear(2, 2)))


def test_global_hooks_are_told_of() -> None:
    compiled, called = torch.compile(torch.nn.Linear(3, 3)), list[Any]()
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *given: called.append(given[0]))
    try:
        with pytest.warns(UserWarning, match="there are global hooks on modules"):
            compiled(torch.randn(2, 3))
    finally:
        handle.remove()
    assert compiled in called


@pytest.mark.parametrize("backend", ["inductor", "eager", lambda module, inputs: module])
def test_classes(backend: Any) -> None:
    class Scaled(torch.nn.Module):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * self.factor).relu()

    assert torch.compile(Scaled, backend=backend) is Scaled

    class Further(Scaled):
        pass

    assert isinstance(Further(2.0), Scaled)
    two, three = Scaled(2.0), Further(3.0)
    for _ in range(8):
        x = torch.randn(5)
        assert two(x).equal((x * 2).relu())
        assert three(x).equal((x * 3).relu())


def test_disabled_classes() -> None:
    inside = []

    @torch.compiler.disable
    class Plain:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            inside.append(torch.compiler.is_compiling())
            return x + 1

    assert isinstance(Plain, type)
    plain = Plain()
    compiled = torch.compile(lambda x: plain(x * 2))
    assert compiled(torch.ones(2)).equal(torch.full((2,), 3.0))
    assert inside == [False]
