"""What surrounds a call and must be there again when it is repeated: random state and autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
from rushlight.amp import autocast
from rushlight.amp.state import get_autocast_dtype, is_autocast_enabled


class Ambient:
    """Random state (if `preserve`) and autocast, as they are when this is made."""

    def __init__(self, preserve: bool) -> None:
        self._random = torch.get_rng_state() if preserve else None
        self._autocast = is_autocast_enabled("cpu"), get_autocast_dtype("cpu")

    @contextmanager
    def again(self) -> Iterator[None]:
        """Inside, it is as it was; afterwards, as it is now."""
        enabled, dtype = self._autocast
        with torch.random.fork_rng(devices=(), enabled=self._random is not None):
            if self._random is not None:
                torch.set_rng_state(self._random)
            with autocast("cpu", dtype=dtype, enabled=enabled):
                yield


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The accelerators that tensors in `args` lie on, and their random states: ([], []), there is none."""
    return [], []


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Give accelerators their random states back; RuntimeError if any is named, there is none."""
    if devices:
        raise RuntimeError(
            "set_device_states: there is no accelerator, got states of devices "
            f"{list(devices)}; restore the CPU's with torch.set_rng_state"
        )
