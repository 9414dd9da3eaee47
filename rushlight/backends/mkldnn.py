"""torch.backends.mkldnn: oneDNN takes no part."""
from __future__ import annotations

enabled = True


def is_available() -> bool:
    """False."""
    return False
