# Written by `python tools/stubs.py`.
"""torch.cuda.nvtx: marks for a profiler of GPUs, which is not there."""
from collections.abc import Iterator
from contextlib import _GeneratorContextManager
from typing import Any

def mark(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def range(msg: str, *args: Any, **kwargs: Any) -> _GeneratorContextManager[None]:
    """A mark around a block or a function that it decorates; the RuntimeError comes when that runs."""
def range_end(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def range_pop(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def range_push(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def range_start(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
