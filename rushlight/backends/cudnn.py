"""torch.backends.cudnn: its switches, which convolutions on a real device look at; the CPU has its own."""

from __future__ import annotations

from rushlight._engine.core import accelerator
from rushlight._engine.tensors.tensor import Tensor
from rushlight.backends.switches import switches

__path__: list[str] = []  # modules below it: names/placeholders.tsv

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit = 10
fp32_precision, depthwise_kernel = "none", "auto"


def is_available() -> bool:
    """Whether there is a device that convolutions run on."""
    return accelerator.platform() is not None


def version() -> int | None:
    """The version that is stood in for, as in 9.20.0; None without a device."""
    return 92000 if is_available() else None


def is_acceptable(tensor: Tensor) -> bool:
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
