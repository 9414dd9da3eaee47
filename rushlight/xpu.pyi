# Written by `python tools/stubs.py`.
"""torch.xpu: says that there is no GPU of Intel's."""
from typing import Any

def _is_compiled(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def _is_in_bad_fork(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_device(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_count(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def empty_cache(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_capability(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_name(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_device_properties(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_rng_state(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_rng_state_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def init(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def initial_seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_bf16_supported(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_initialized(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def manual_seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def manual_seed_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def max_memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def mem_get_info(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_allocated(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def memory_reserved(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def seed_all(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_device(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def set_stream(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def synchronize(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
