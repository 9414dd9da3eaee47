# Written by `python tools/stubs.py`.
"""torch.backends.mkldnn: oneDNN takes no part."""
from typing import Any

enabled: bool
def is_available(*args: Any, **kwargs: Any) -> Any:
    """As PyTorch's without such a device."""
