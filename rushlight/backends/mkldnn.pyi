# Written by `python tools/stubs.py`.
"""torch.backends.mkldnn: oneDNN takes no part; its switches are kept."""
from collections.abc import Iterator
from contextlib import _GeneratorContextManager
from typing import Any

allow_tf32: bool
deterministic: bool
enabled: bool
def flags(**given: Any) -> _GeneratorContextManager[None]:
    """Set switches within the block; those that are not named take the defaults of `flags()`."""
fp32_precision: str
def is_acl_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_flags(*values: Any, **given: Any) -> tuple[Any, ...]:
    """Set switches, by place or with an underscore before their names; None leaves one.

    Returns what they were before.
    """
