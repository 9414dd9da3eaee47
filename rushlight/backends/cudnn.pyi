# Written by `python tools/stubs.py`.
"""torch.backends.cudnn: there is no cuDNN; its switches are kept."""
from collections.abc import Iterator
from typing import Any

allow_tf32: bool
benchmark: bool
benchmark_limit: int
deterministic: bool
enabled: bool
def flags(**values: bool) -> Iterator[None]:
    """Set switches (`enabled`, `benchmark`, `deterministic`, `allow_tf32`) within the block."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def version(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
