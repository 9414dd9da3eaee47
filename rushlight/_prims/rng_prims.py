"""torch._prims.rng_prims: calls whose random numbers can be drawn again."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten


def _generator_of(args: Any, kwargs: dict[str, Any]) -> Any:
    """The module with the state of the generator that a call draws from: torch, or torch.cuda."""
    where = kwargs.get("device")
    found = {t.device.type for t in flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)}
    kinds = found if where is None else {torch.device(where).type}
    if len(kinds - {"cpu", "meta"}) > 1:
        raise RuntimeError(f"{kinds} is not a single device")
    return torch.cuda if "cuda" in kinds else torch


def run_and_save_rng_state(op: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The generator's state before a call, and the call's result."""
    state = _generator_of(args, kwargs).get_rng_state()
    return state, op(*args, **kwargs)


def run_with_rng_state(rng_state: Any, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A call's result with the generator in this state; it is in its own again behind it."""
    source = _generator_of(args, kwargs)
    before = source.get_rng_state()
    source.set_rng_state(rng_state)
    try:
        return op(*args, **kwargs)
    finally:
        source.set_rng_state(before)


def __getattr__(name: str) -> Any:
    """What else PyTorch has here can be imported."""
    return import_module("rushlight._engine.names.alternatives").attribute(__name__, name)
