"""torch.utils._cxx_pytree: the same trees; PyTorch has them in compiled code as well, over the package
optree.
"""

from __future__ import annotations

from typing import Any

from rushlight.utils import _pytree


def __getattr__(name: str) -> Any:
    return getattr(_pytree, name)


def __dir__() -> list[str]:
    return dir(_pytree)
