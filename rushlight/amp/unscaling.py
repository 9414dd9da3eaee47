"""The steps of a GradScaler as ops, for programs that write their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight import foreach


@torch.no_grad()
def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Any], found_inf: Any, inv_scale: Any) -> None:
    """Multiply tensors by inv_scale, in place; found_inf becomes 1 where one holds inf or nan before.

    found_inf, inv_scale: float32 tensors of one element.
    """
    if not self:
        return
    for tensor, name in ((inv_scale, "inv_scale"), (found_inf, "found_inf")):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if tensor.dtype is not torch.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    filled = [t for t in self if t.numel()]
    if not filled:
        return
    finite = [norm.isfinite() for norm in foreach.norm(filled, torch.inf)]
    bad = torch.stack(finite).all().logical_not().float()
    found_inf.copy_(torch.maximum(found_inf, bad))
    foreach.mul_(filled, inv_scale.reshape(()))


@torch.no_grad()
def _amp_update_scale_(
    self: Any,
    growth_tracker: Any,
    found_inf: Any,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Any:
    """Adapt a factor, in place, to whether an iteration found inf or nan; growth_tracker counts those since
    that did not.
    """
    if self.device.type != "cpu":
        return _update_there(
            self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval
        )
    value, steps = self.item(), int(growth_tracker.item()) + 1
    if found_inf.item():
        value, steps = value * scale_backoff_factor, 0
    elif steps == growth_interval:
        steps = 0
        grown = torch.tensor(value * scale_growth_factor, dtype=torch.float32)
        # A factor that float32 cannot hold would make every gradient inf.
        value = grown.item() if grown.isfinite() else value
    self.fill_(value)
    growth_tracker.fill_(steps)
    return self


def _update_there(
    factor: Any, tracker: Any, found_inf: Any, growth: float, backoff: float, growth_interval: int
) -> Any:
    """The same on a device, which nobody waits for."""
    found, steps, value = found_inf != 0, tracker + 1, factor.double()
    due = steps == growth_interval
    grown = (value * growth).float()
    larger = torch.where(due & grown.isfinite(), grown, factor)
    factor.copy_(torch.where(found, (value * backoff).float(), larger))
    tracker.copy_(steps.masked_fill(found | due, 0))
    return factor
