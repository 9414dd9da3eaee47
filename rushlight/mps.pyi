# Written by `python tools/stubs.py`.
"""torch.mps: says that there is no GPU of Apple's."""
from typing import Any

def _is_in_bad_fork(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def current_allocated_memory(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def device_count(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def driver_allocated_memory(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def empty_cache(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def get_rng_state(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def manual_seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def recommended_max_memory(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def seed(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
def synchronize(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
