"""The state of CUDA's generator as tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import rushlight as torch


class CUDARngStateHelper:
    """The seed and the offset of the current CUDA device's generator."""

    @staticmethod
    def get_torch_state_as_tuple(fake_mode: AbstractContextManager[Any] | None = None) -> tuple[Any, Any]:
        """Both as tensors; RuntimeError without CUDA."""
        if not torch.cuda.is_available():
            raise RuntimeError("CUDA not available")
        with fake_mode or nullcontext():
            both = torch.cuda.get_rng_state().view(torch.int64)
            return torch.tensor(both[0].item()), torch.tensor(both[1].item())

    @staticmethod
    def set_torch_state_tensor(seed: Any, offset: Any) -> None:
        """Go on from there."""
        parts = [t.reshape(1).view(torch.uint8) for t in (seed, offset)]
        torch.cuda.set_rng_state(torch.cat(parts))

    @staticmethod
    def set_new_offset(relative_offset: Any) -> None:
        """Go on from another offset of the same seed."""
        state = torch.cuda.get_rng_state()
        state[8:] = torch.tensor([int(relative_offset)]).view(torch.uint8)
        torch.cuda.set_rng_state(state)
