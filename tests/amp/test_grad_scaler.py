"""GradScaler: scaling, the order of its steps, the factor's growth, state, older spellings."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rushlight as torch


def _made(**options: Any) -> tuple[Any, Any, Any]:
    p = torch.nn.Parameter(torch.ones(2))
    return p, torch.optim.SGD([p], lr=0.5), torch.amp.GradScaler("cpu", **options)


def test_an_iteration() -> None:
    p, optimizer, scaler = _made(init_scale=8.0)
    scaler.scale((p * 0.5).sum()).backward()
    assert p.grad.tolist() == [4, 4]
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [0.5, 0.5]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.75, 0.75] and scaler.get_scale() == 8


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_steps_with_overflow_are_left_out(bad: float) -> None:
    p, optimizer, scaler = _made(init_scale=8.0, growth_interval=2, growth_factor=3.0, backoff_factor=0.25)
    scales = []
    for factor in (bad, 0.0, 0.0, 0.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2, 2, 6, 6] and p.tolist() == [1, 1]


def test_large_and_empty_gradients() -> None:
    wide, small = (torch.nn.Parameter(torch.ones(2, dtype=d)) for d in (torch.float64, torch.float32))
    empty, scaler = torch.nn.Parameter(torch.ones(0)), torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(small.sum())
    wide.grad, small.grad, empty.grad = torch.ones_like(wide) * 1e300, torch.ones(2), torch.ones(0)
    optimizers = [torch.optim.SGD(params, lr=1.0) for params in ([wide, small], [empty])]
    for optimizer in optimizers:  # which a scaler knows by their ids
        scaler.step(optimizer)
    assert wide.tolist() == [-5e299] * 2 and small.tolist() == [0.5] * 2
    scaler.update()
    assert scaler.get_scale() == 2


def test_order() -> None:
    p, optimizer, scaler = _made()
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.step(optimizer)
    scaler.scale(p.sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler.update(4.0)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step"):
        scaler.unscale_(optimizer)
    scaler.update(torch.tensor(2.0))
    assert scaler.get_scale() == 2
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=p.sum)


def test_float16_gradients_are_refused() -> None:
    p = torch.nn.Parameter(torch.ones(2).half())
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(p.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(torch.optim.SGD([p], lr=0.1))


def test_outputs_of_all_kinds() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    one = torch.ones(1)
    pair, (inner,) = scaler.scale((one, [one]))
    assert pair.item() == inner.item() == 2
    assert [t.item() for t in scaler.scale(iter([one]))] == [2]
    with pytest.raises(ValueError, match="Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_state() -> None:
    _, _, scaler = _made(init_scale=4.0, growth_interval=7)
    scaler.scale(torch.ones(1))
    again = torch.amp.GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    assert again.state_dict() == scaler.state_dict() == pickle.loads(pickle.dumps(scaler)).state_dict()
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})


def test_disabled_without_cuda() -> None:
    p, optimizer, _ = _made()
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = torch.amp.GradScaler()
    assert not scaler.is_enabled() and scaler.get_scale() == 1 and scaler.state_dict() == {}
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 0.5]


def test_older_spellings() -> None:
    import rushlight.cpu.amp
    import rushlight.cuda.amp

    with pytest.warns(FutureWarning, match=r"torch.amp.GradScaler\('cpu'"):
        assert rushlight.cpu.amp.GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match="torch.cuda.amp.GradScaler"), pytest.warns(UserWarning):
        assert not rushlight.cuda.amp.GradScaler().is_enabled()
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Disabling autocast"):
        rushlight.cuda.amp.autocast()
    with pytest.warns(FutureWarning):
        assert rushlight.cpu.amp.autocast().fast_dtype is torch.bfloat16
