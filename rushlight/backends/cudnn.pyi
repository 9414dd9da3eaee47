# Written by `python tools/stubs.py`.
"""torch.backends.cudnn: its switches, which convolutions on a real device look at; the CPU has its own."""
from builtins import bool as _bool, int as _int
from collections.abc import Iterator
from contextlib import _GeneratorContextManager
from rushlight import Tensor
from typing import Any

allow_tf32: _bool
benchmark: _bool
benchmark_limit: _int
depthwise_kernel: str
deterministic: _bool
enabled: _bool
def flags(**given: Any) -> _GeneratorContextManager[None]:
    """Set switches within the block; those that are not named take the defaults of `flags()`."""
fp32_precision: str
def is_acceptable(tensor: Tensor) -> _bool:
    """Whether a tensor is one that cuDNN would take."""
def is_available() -> _bool:
    """Whether there is a device that convolutions run on."""
def set_flags(*values: Any, **given: Any) -> tuple[Any, ...]:
    """Set switches, by place or with an underscore before their names; None leaves one.

    Returns what they were before.
    """
def version() -> _int | None:
    """The version that is stood in for, as in 9.20.0; None without a device."""
