"""Plans whose loops over few elements are one native call, and plans of rows with gradients of their own."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.dispatch.dispatcher import function
from rushlight._engine.dispatch.runners import plan_loops
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.ops.table import ROWS

F = torch.nn.functional
# Sizes, and whether channels are last.
LAID: list[tuple[tuple[int, ...], bool]] = [
    (sizes, last) for sizes in ((3, 4, 5, 2), (2, 8, 32, 32)) for last in (False, True)
]
LAID += [((6, 4), False), ((2, 4, 7), False)]


def bits(*tensors: Any) -> list[bytes]:
    return [t.detach().contiguous().view(torch.uint8).numpy().tobytes() for t in tensors]


def step(layer: Any, x: Any, g: Any) -> list[bytes]:
    """Bits of a step from fresh running values: result, gradients, running values."""
    layer.reset_running_stats()
    layer.zero_grad()
    x = x.detach().requires_grad_()
    y = layer(x)
    y.backward(g)
    own = [t for t in (layer.weight, layer.bias) if t is not None]
    running = [layer.running_mean, layer.running_var] if layer.running_mean is not None else []
    return bits(y, x.grad, *[t.grad for t in own], *running)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("sizes", "last"), LAID)
def test_every_call_of_batch_norm_has_the_same_bits(sizes: tuple[int, ...], last: bool, dtype: Any) -> None:
    torch.manual_seed(0)
    x, g = torch.randn(sizes).to(dtype), torch.randn(sizes).to(dtype)
    if last:
        x, g = (t.contiguous(memory_format=torch.channels_last) for t in (x, g))
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    makers = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
    for affine, tracked in ((True, True), (False, False)):
        layer = makers[len(sizes)](sizes[1], affine=affine, track_running_stats=tracked).to(wide)
        first = step(layer, x, g)
        for call in range(12):
            assert step(layer, x, g) == first, call
            if call % 4 == 3:
                tiers.wait()
        with torch.autograd.profiler.profile(record_shapes=True):  # which sees each op that an op consists of
            assert step(layer, x, g) == first


@pytest.mark.skipif(not target.available(), reason="no machine code")
def test_loops_that_follow_each_other_are_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[tuple[int, list[str]]]()
    lines = plan_loops.Loops.lines

    def noted(self: Any, *given: Any) -> list[str]:
        found = lines(self, *given)
        seen.append((len(self.stages), found))
        return found

    monkeypatch.setattr(plan_loops.Loops, "lines", noted)
    row = function(ROWS["_update_moment"])
    running, moments = torch.randn(8), torch.randn(1, 8, 1)
    for _ in range(40):  # until all its kernels are machine code, and the plan is of them
        found = row(running, moments, 0.75, 0.25)
        tiers.wait()
    assert max(seen)[0] == 4
    assert [line.count("empty(") for line in max(seen)[1]] == [1, 1]  # what is given, and what only loops see
    assert torch.equal(found, 0.75 * running + 0.25 * (moments.reshape(-1) * 0.75))
    same = running.reshape(1, 8, 1)  # operands that are one memory
    for _ in range(4):
        assert torch.equal(row(running, same, 0.75, 0.25), 0.75 * running + 0.25 * (running * 0.75))


def test_a_row_with_a_gradient_of_its_own_is_planned_when_tracked() -> None:
    x, w, b = torch.randn(2, 3, 4, 4), torch.rand(3), torch.rand(3)
    row = function(ROWS["_by_own_moments"])
    first = None
    for _ in range(4):
        given = [t.clone().requires_grad_() for t in (x, w, b)]
        y, center, spread = row(*given, 1e-5)
        assert y.grad_fn.name() == "NativeBatchNormBackward0" and center.grad_fn is y.grad_fn
        found = torch.autograd.grad((y.square().sum(), spread.sum()), given, create_graph=True)
        twice = torch.autograd.grad(sum(t.square().sum() for t in found), given)
        first = first or bits(*found, *twice)
        assert bits(*found, *twice) == first
    y = row(*given, 1e-5)[0]
    with torch.no_grad():
        given[0].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("of", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("momentum", [0.1, 0.0, 1.0, None])
def test_running_values_move_alike_wherever_they_lie(of: Any, momentum: float | None) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 6, 3).to(of)
    expected, values = None, (torch.randn(6).to(of), torch.rand(6).to(of))
    for form in ("plain", "plain", "plain", "heard", "apart", "one memory"):
        layer = torch.nn.BatchNorm1d(6, momentum=momentum).to(of)
        layer.running_mean, layer.running_var = (t.clone() for t in values)
        if form == "apart":
            layer.running_mean = torch.stack([values[0]] * 2, 1)[:, 0]
        if form == "one memory":
            both = torch.cat(values)
            layer.running_mean, layer.running_var = both[:6], both[6:]
        before = layer.running_mean._version
        if form == "heard":
            with torch.autograd.profiler.profile(record_shapes=True):
                layer(x)
        else:
            layer(x)
        found = bits(layer.running_mean, layer.running_var)
        expected = expected or found
        assert found == expected, form
        assert layer.running_mean._version > before
        tiers.wait()


def test_running_values_are_not_written_where_pytorch_refuses() -> None:
    x, mean, variance = torch.randn(4, 3), torch.zeros(3), torch.ones(3)
    with torch.inference_mode():
        held = torch.zeros(3)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        F.batch_norm(x, held, variance, training=True)
    with pytest.raises(RuntimeError, match="more than one element|single memory location"):
        F.batch_norm(x, torch.zeros(1).expand(3), variance, training=True)
    found = torch.func.grad(lambda t: F.batch_norm(t, mean, variance, training=True).square().sum())(x)
    assert found.shape == x.shape and mean.ne(0).all()
