"""Parameters averaged over the ranks of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rushlight as torch
import rushlight.distributed as dist

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[torch.nn.Parameter], process_group: Any) -> None:
    """Give parameters the average that they have over a group (None: all ranks); collective."""
    group: Any = process_group if process_group is not None else dist.group.WORLD
    averaged = list(params)
    if dist.get_rank(group) < 0 or not averaged:
        return
    flat = torch.cat([p.data.reshape(-1) for p in averaged])
    flat /= dist.get_world_size(group)
    dist.all_reduce(flat, group=group)
    for p, part in zip(averaged, flat.split([p.numel() for p in averaged]), strict=True):
        p.data = part.view_as(p).type_as(p)


def get_params_to_average(params: Iterable[Any]) -> list[torch.nn.Parameter]:
    """Those of parameters, or of an optimizer's param_groups, that have a gradient."""
    found: list[torch.nn.Parameter] = []
    for item in params:
        if not isinstance(item, (torch.nn.Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(item)} is not supported")
        given = item["params"] if isinstance(item, dict) else [item]
        found += [p for p in given if p.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """average_parameters() of get_params_to_average()."""
    average_parameters(get_params_to_average(params), process_group)
