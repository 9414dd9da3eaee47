"""torch.cuda: says that there is no GPU, as PyTorch's builds for CPUs do.

What only prepares for one, or asks how much of it is used, does nothing; what needs one raises
AssertionError.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def is_available() -> bool:
    """False: kernels run on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def _nothing(name: str) -> Callable[..., None]:
    def run(*args: Any, **kwargs: Any) -> None:
        """Nothing to do without a GPU."""
    run.__name__ = name
    return run


def _zero(name: str) -> Callable[..., int]:
    def run(device: Any = None) -> int:
        """0 bytes of a GPU that is not there."""
        return 0
    run.__name__ = name
    return run


def _refused(name: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        """Needs a GPU: AssertionError."""
        raise AssertionError(f"Torch not compiled with CUDA enabled: torch.cuda.{name} needs a GPU, and "
                             "Rushlight computes on the CPU. Ask torch.cuda.is_available() first")
    run.__name__ = name
    return run


def get_rng_state_all() -> list[Any]:
    """The states of no generators."""
    return []


def set_rng_state_all(new_states: Sequence[Any]) -> None:
    """Take back what get_rng_state_all gave."""


globals().update({name: make(name) for make, names in (
    (_nothing, ("manual_seed", "manual_seed_all", "seed", "seed_all", "empty_cache")),
    (_zero, ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")),
    (_refused, ("synchronize", "current_device", "get_device_name", "get_device_properties",
                "get_device_capability", "set_device", "current_stream", "default_stream", "Stream",
                "Event", "initial_seed", "get_rng_state", "set_rng_state", "reset_peak_memory_stats",
                "ipc_collect", "init"))) for name in names})


def __getattr__(name: str) -> Any:
    # With autocast comes the engine; what asks for a GPU need not load that.
    if name == "amp":
        return import_module("rushlight.cuda.amp")
    raise AttributeError(f"module 'torch.cuda' has no attribute {name!r}")
