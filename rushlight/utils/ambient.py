"""What surrounds a call and must be there again when it is repeated: random state and autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import rushlight as torch
from rushlight.amp import autocast
from rushlight.amp.state import get_autocast_dtype, is_autocast_enabled
from rushlight.utils._pytree import tree_leaves


class Ambient:
    """Random state (if `preserve`) and autocast, as they are when this is made."""

    def __init__(self, preserve: bool) -> None:
        self._random = torch.random._states() if preserve else None
        self._autocast = [(d, is_autocast_enabled(d), get_autocast_dtype(d)) for d in ("cpu", "cuda")]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Inside, it is as it was; afterwards, as it is now."""
        with torch.random.fork_rng(enabled=self._random is not None), ExitStack() as entered:
            if self._random is not None:
                torch.random._restore(self._random)
            for device, enabled, dtype in self._autocast:
                entered.enter_context(autocast(device, dtype=dtype, enabled=enabled))
            yield


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The numbers of the CUDA devices that tensors in `args` lie on, and their random states."""
    tensors = [t for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
    devices = sorted({t.get_device() for t in tensors if t.is_cuda})
    return devices, [torch.cuda.get_rng_state(d) for d in devices]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Give CUDA devices their random states back; RuntimeError if any is named and there is none."""
    if torch.cuda.is_available():
        for device, state in zip(devices, states, strict=True):
            torch.cuda.set_rng_state(state, device)
    elif devices:
        raise RuntimeError(
            "set_device_states: there is no accelerator, got states of devices "
            f"{list(devices)}; restore the CPU's with torch.set_rng_state"
        )
