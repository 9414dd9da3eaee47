"""torch.cuda: says that there is no GPU, as PyTorch's builds for CPUs do.

What only prepares for one, or asks how much of it is used, does nothing; what needs one raises PyTorch's
exceptions (AttributeError where its own module says by accident that something inside it is absent).
"""

from __future__ import annotations

from contextlib import nullcontext

from rushlight._engine.lazy import homes, lazy_names
from rushlight._engine.names.absent_devices import AcceleratorError, OutOfMemoryError, functions  # noqa: F401

stream = StreamContext = type("StreamContext", (nullcontext,), {"__doc__": "Of no stream."})
globals().update(functions("cuda"))


__getattr__, __dir__ = lazy_names(globals(), homes(__name__))
