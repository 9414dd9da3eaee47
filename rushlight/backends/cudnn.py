"""torch.backends.cudnn: its switches are kept; convolutions are Rushlight's own."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core import accelerator
from rushlight._engine.names.absent_devices import functions
from rushlight.backends.switches import switches

__path__: list[str] = []  # modules below it: names/placeholders.tsv

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit = 10
fp32_precision, depthwise_kernel = "none", "auto"

globals().update(functions("backends.cudnn"))
if accelerator.platform() is not None:

    def is_available() -> bool:
        """True: convolutions run on the device."""
        return True

    def version() -> int:
        """The version that is stood in for, as in 9.20.0."""
        return 92000

    def is_acceptable(tensor: Any) -> bool:
        """Whether a tensor is one that cuDNN would take."""
        return bool(enabled and tensor.is_cuda and tensor.dtype.is_floating_point)


set_flags, flags = switches(
    globals(),
    {
        "enabled": False,
        "benchmark": False,
        "benchmark_limit": 10,
        "deterministic": False,
        "allow_tf32": True,
        "fp32_precision": "none",
        "depthwise_kernel": "auto",
    },
)
