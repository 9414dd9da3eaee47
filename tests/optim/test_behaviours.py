"""Optimizers and schedulers do what PyTorch was recorded to do."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import rushlight
import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from averaging_behaviours import AVERAGING
from optim_behaviours import OPTIM
from scheduler_behaviours import SCHEDULERS

test_optimizer = OPTIM.compared(rushlight)
# To the last bit, up to what cos() of another C library gives.
test_scheduler = SCHEDULERS.compared(rushlight, 1e-15)
test_averages = AVERAGING.compared(rushlight)


def test_a_program_may_have_a_step_that_is_called_update() -> None:
    class Lookahead(torch.optim.Optimizer):
        def __init__(self, inner: torch.optim.Optimizer) -> None:
            self.inner, self.param_groups, self.state = inner, inner.param_groups, defaultdict(dict)
            self.calls = 0

        def _update(self, group: dict[str, Any]) -> None:
            self.calls += 1

        def step(self, closure: Any = None) -> Any:
            loss = self.inner.step(closure)
            for group in self.param_groups:
                self._update(group)
            return loss

    class Named(torch.optim.Adam):
        def _update(self) -> None:
            raise AssertionError

    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    for optimizer in (Lookahead(torch.optim.SGD([p], 0.1)), Named([p], 0.1)):
        optimizer.step()
    assert torch.allclose(p, torch.tensor([0.8, 0.8]))


class _Kept(torch.optim.Adam):
    """Keeps the averages in bfloat16, whatever dtype the parameters have."""

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        if key == "exp_avg":
            return value.to(torch.bfloat16)
        return torch.optim.Optimizer._process_value_according_to_param_policy(
            param, value, param_id, param_groups, key
        )


def test_an_optimizer_may_say_how_its_state_is_loaded() -> None:
    """Libraries that keep state in few bits override one static method."""
    p = torch.ones(3, requires_grad=True)
    first = torch.optim.Adam([p])
    p.grad = torch.ones(3)
    first.step()
    second = _Kept([p.detach().double().requires_grad_()])
    second.load_state_dict(first.state_dict())
    (state,) = second.state.values()
    assert (state["exp_avg"].dtype, state["exp_avg_sq"].dtype) == (torch.bfloat16, torch.float64)
    assert state["step"].dtype is torch.float32
