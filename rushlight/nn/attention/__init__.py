"""Which implementation scaled_dot_product_attention uses (torch.nn.attention).

There is one here, that never stores the scores where it can avoid it: the choice is accepted, kept
and shown by `_cur_sdpa_kernel_backends`, and does not change results.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any


class SDPBackend(IntEnum):
    """The implementations that PyTorch has."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)


_ALL = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)
_chosen = threading.local()


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(getattr(_chosen, "backends", _ALL))


@contextlib.contextmanager
def sdpa_kernel(
    backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[Any, Any]]:
    """Choose implementations for the code inside; AssertionError for anything but SDPBackend."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    wanted = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    previous = _cur_sdpa_kernel_backends()
    _chosen.backends = wanted
    try:
        yield {}
    finally:
        _chosen.backends = previous


__all__ = ["SDPBackend", "sdpa_kernel"]
