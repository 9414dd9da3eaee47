"""Whether a value is a fake tensor."""
from __future__ import annotations

from typing import Any


def is_fake(x: Any) -> bool:
    """False: tensors without memory are on the meta device here."""
    return False
