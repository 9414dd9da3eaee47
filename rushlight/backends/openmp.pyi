# Written by `python tools/stubs.py`.
"""torch.backends.openmp: OpenMP takes no part."""
from typing import Any

def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
