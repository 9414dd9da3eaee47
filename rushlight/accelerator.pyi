# Written by `python tools/stubs.py`.
"""torch.accelerator: programs that are written for any device ask here; without CUDA there is none."""
from contextlib import AbstractContextManager
from typing import Any

def current_accelerator(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_device_idx(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_device_index(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_count(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_index(device: int | None, /) -> AbstractContextManager[Any]:
    """A `with` block in which the device of a number is the current one; None changes nothing."""
def empty_cache(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def empty_host_cache(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_capability(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_memory_info(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_accumulated_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def reset_peak_memory_stats(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_device_idx(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_device_index(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def synchronize(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
