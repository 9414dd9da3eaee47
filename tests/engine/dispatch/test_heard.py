"""Classes that hear of ops, and levels of transforms, cost nothing where they are not."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.dispatch.interpreters import MODES, heard
from rushlight._engine.dispatch.nodes import declared
from rushlight._engine.dispatch.runners.rule_plans import PATIENCE
from rushlight._engine.kernels.runtime import tiers


class Heard(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_plain_operands_are_heard_by_nobody() -> None:
    x = torch.randn(3, 2)
    torch.func.vmap(torch.sin)(x)
    torch.func.jvp(torch.sin, (x,), (x,))
    assert not MODES
    assert not heard((x, 1, 2.0, torch.nn.Parameter(x)))
    assert heard((x, x.as_subclass(Heard)))
    with torch.overrides.BaseTorchFunctionMode():
        assert heard((x,))


def test_gradients_go_by_plans_whatever_classes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.func.vmap(torch.sin)(torch.randn(2))
    x, layer = torch.randn(5, 3), torch.nn.Linear(3, 4)
    for _ in range(PATIENCE + 2):
        layer(x).sum().backward()
    tiers.wait()
    layer(x).sum().backward()
    run, ran = declared._run, list[str]()

    def noted(node: Any, grads: Any) -> Any:
        ran.append(node.name())
        return run(node, grads)

    monkeypatch.setattr(declared, "_run", noted)
    layer(x).sum().backward()
    assert "AddmmBackward0" not in ran


def test_a_listener_hears_of_the_first_gradient() -> None:
    ran: list[str] = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            ran.append(str(func))
            return func(*args, **(kwargs or {}))

    out = torch.ones(3, requires_grad=True).sum()
    with Mode():
        out.backward()
    assert ran[0] == "aten.ones_like.default"


def test_calls_of_warm_code_are_told_as_they_were_written() -> None:
    heard: list[tuple[int, list[str]]] = []

    class Hearing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            heard.append((len(args), sorted(kwargs or {})))
            return func(*args, **kwargs or {})

    def layer(x, own):  # whose dict has the arguments, as a layer's has
        return torch.nn.functional.linear(x, own["weight"], own["bias"])

    given = torch.ones(2, 3), {"weight": torch.ones(4, 3), "bias": torch.ones(4)}
    for _ in range(30):
        layer(*given)
    with Hearing():
        layer(*given)
    assert heard == [(3, [])]
