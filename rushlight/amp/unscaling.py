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
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
        return self
    steps = int(growth_tracker.item()) + 1
    if steps == growth_interval:
        grown = self * scale_growth_factor
        if grown.isfinite().all():  # a factor that float32 cannot hold would make every gradient inf
            self.copy_(grown)
        steps = 0
    growth_tracker.fill_(steps)
    return self
