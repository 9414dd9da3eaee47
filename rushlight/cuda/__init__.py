"""torch.cuda: says that there is no GPU, as PyTorch's builds for CPUs do.

What only prepares for one, or asks how much of it is used, does nothing; what needs one raises PyTorch's
exceptions (AttributeError where its own module says by accident that something inside it is absent).
"""
from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any

from rushlight.base.absent import AcceleratorError, OutOfMemoryError, functions  # noqa: F401
from rushlight.base.elsewhere import attribute

stream = StreamContext = type("StreamContext", (nullcontext,), {"__doc__": "Of no stream."})
globals().update(functions("cuda"))


def __getattr__(name: str) -> Any:
    # With autocast comes the engine; what asks for a GPU need not load that.
    if name in ("amp", "memory", "nvtx"):
        return import_module(f"rushlight.cuda.{name}")
    return attribute("torch.cuda", name)
