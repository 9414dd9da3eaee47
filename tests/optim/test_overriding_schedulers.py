"""What subclasses of schedulers and of GradScaler override."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight.optim.lr_scheduler import CyclicLR, ReduceLROnPlateau
from rushlight.optim.swa_utils import SWALR


def sgd() -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)


def test_plateau() -> None:
    """step() asks _is_better, and older programs' is_better."""

    class Never(ReduceLROnPlateau):
        def _is_better(self, a: float, best: float) -> bool:
            return False

    class Older(ReduceLROnPlateau):
        def is_better(self, a: float, best: float) -> bool:
            return False

    own: tuple[ReduceLROnPlateau, ...] = Never(sgd(), patience=0), Older(sgd(), patience=0)
    for lowered in own:
        lowered.step(1.0)
        assert lowered.get_last_lr() == [pytest.approx(0.01)]
    scheduler = ReduceLROnPlateau(sgd(), patience=0)
    scheduler.step(1.0)
    assert scheduler.get_last_lr() == [0.1] and scheduler._is_better(0.5, 1.0)
    assert scheduler._get_lr_called_within_step is False
    scheduler._init_is_better("max", 0.1, "abs")
    assert scheduler.mode_worse == -float("inf") and not scheduler._is_better(1.05, 1.0)
    scheduler.load_state_dict({**scheduler.state_dict(), "mode": "min"})
    assert scheduler.mode_worse == float("inf")
    with pytest.raises(ValueError, match="threshold mode x is unknown!"):
        scheduler._init_is_better("max", 0.1, "x")


def test_cyclic() -> None:
    """The scale function is the mode's static method, and none of the state."""

    class Half(CyclicLR):
        @staticmethod
        def _triangular_scale_fn(x: float) -> float:
            return 0.5

    scheduler = Half(sgd(), 0.1, 1.1, 2)
    assert scheduler.scale_fn(3) == 0.5
    scheduler.optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [pytest.approx(0.35)]
    other = CyclicLR(sgd(), 0.1, 1.0, 2, mode="exp_range", gamma=0.5)
    assert other.scale_mode == "iterations" and other.scale_fn(2) == 0.25
    saved = pickle.loads(pickle.dumps(other.state_dict()))
    assert "_scale_fn_ref" not in saved
    scheduler.load_state_dict(saved)
    assert scheduler.scale_mode == "iterations" and scheduler.scale_fn(2) == 0.25


def test_swa() -> None:
    """get_lr takes the rates from _get_initial_lr and the annealing function."""

    class Steep(SWALR):
        @staticmethod
        def _linear_anneal(t: float) -> float:
            return t**2

    scheduler = Steep(sgd(), 0.5, 4, "linear")
    for _ in range(2):
        scheduler.optimizer.step()
        scheduler.step()
    assert scheduler.get_last_lr() == [pytest.approx(0.1 + 0.4 / 4)]
    assert "anneal_func" not in scheduler.state_dict()
    scheduler.load_state_dict({**scheduler.state_dict(), "_anneal_strategy": "cos"})
    assert scheduler.anneal_func(0.5) == pytest.approx(0.5)


def test_scaler() -> None:
    """step(), update() and get_scale() go through the methods that subclasses have."""
    calls: list[str] = []

    class Watched(torch.amp.GradScaler):
        def _check_scale_growth_tracker(self, funcname: str) -> Any:
            calls.append(funcname)
            return super()._check_scale_growth_tracker(funcname)

        def _maybe_opt_step(self, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any) -> Any:
            assert self._found_inf_per_device(optimizer) is optimizer_state["found_inf_per_device"]
            super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)
            return 7

    scaler, optimizer = Watched("cpu", init_scale=4.0), sgd()
    assert scaler._get_scale_async() is None
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(optimizer.param_groups[0]["params"][0].sum()).backward()
    assert scaler.step(optimizer) == 7
    scaler.update()
    assert calls == ["step", "step", "unscale_", "update"]
    assert optimizer.param_groups[0]["params"][0].tolist() == [pytest.approx(0.9)] * 2
