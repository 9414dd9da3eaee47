"""CUDA devices: real where there is a GPU, simulated where there is none. Loaded when a program asks for
them.

Begin with platform.py (which devices there are), device.py (one of them: memory, launches) and array.py (what
a tensor holds there). served/ has rows by the device's kernels, kernels/ their text, driver/ NVIDIA's
libraries; the files that end in _api are what torch.cuda hands out. Nothing here knows trace/ or the public
storey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight._engine.core.settings import settings

if TYPE_CHECKING:  # an interface to be checked against, which no program loads
    from rushlight._engine.core.backend import Platform as PlatformProtocol


def load() -> PlatformProtocol | None:
    """The platform, which the engine registers; None where there is no device."""
    if not settings.cuda:
        return None  # a driver alone does not switch real devices on: they have not run on a GPU yet
    # a program without CUDA loads nothing of it
    from rushlight._engine.devices.cuda.platform import Platform

    made = Platform()
    return made if made.count else None
