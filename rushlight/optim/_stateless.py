"""An optimizer's parameters and state replaced for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.optim.optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Any], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Step other tensors for the length of a `with`, with a state_dict() of theirs.

    Tensors are changed in place; everything else that the block does to groups and state is forgotten.
    RuntimeError where the optimizer has no state yet, or the given parameters or groups do not fit.
    """
    if not optimizer.state:
        raise RuntimeError("swap_in_optimizer_params_and_state requires initialized optimizer state.")
    groups, state = optimizer.param_groups, optimizer.state
    saved = swapin_optim_state["param_groups"]
    tensors = list(swapin_parameters.values())
    if len(tensors) != sum(len(group["params"]) for group in groups):
        raise RuntimeError(
            "swap_in_optimizer_params_and_state requires the explicit parameter state to "
            "match optimizer.param_groups ordering."
        )
    if len(saved) != len(groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    by_number = dict(zip([n for group in saved for n in group["params"]], tensors, strict=True))
    held = swapin_optim_state["state"]
    optimizer.state = defaultdict(dict, {t: dict(held.get(n, {})) for n, t in by_number.items()})
    optimizer.param_groups = [{**s, "params": [by_number[n] for n in s["params"]]} for s in saved]
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = groups, state
