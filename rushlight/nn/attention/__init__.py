"""Which implementation scaled_dot_product_attention uses (torch.nn.attention).

There is one here, that never stores the scores where it can avoid it: the choice is accepted, kept
and shown by `_cur_sdpa_kernel_backends`, and does not change results.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

import rushlight as torch


class SDPBackend(Enum):
    """The implementations that PyTorch has; int() of one is its number, which it does not equal."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = range(-1, 5)

    def __index__(self) -> int:
        return int(self.value)

    __int__ = __index__


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


_IMPLS: dict[str, Callable[..., Any]] = {}
_ACTIVE: list[tuple[str, Any]] = []  # the one that is active, with the handle that undoes it


def register_flash_attention_impl(impl: str, *, register_fn: Callable[..., Any]) -> None:
    """A library's attention by a name. register_fn() puts it in place, and may return an object whose
    remove() takes it away again.
    """
    _IMPLS[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names that were registered."""
    return sorted(_IMPLS)


def activate_flash_attention_impl(impl: str) -> None:
    """Call a registered library's function, after the former one's was undone; ValueError for other names."""
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _IMPLS:
        raise ValueError(
            f"Unknown flash attention impl '{impl}'. Available implementations: "
            f"{list_flash_attention_impls()}"
        )
    handle = _IMPLS[impl]()
    if handle is not None:
        _ACTIVE[:] = [(impl, handle)]


def current_flash_attention_impl() -> str | None:
    """The name of the active one; None for the one that is built in."""
    return _ACTIVE[0][0] if _ACTIVE else None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Undo activate_flash_attention_impl; a line in the log where there is nothing to undo."""
    if _ACTIVE:
        _ACTIVE.pop()[1].remove()
    elif _raise_warn:
        logging.getLogger(__name__).warning(
            "Trying to restore default FA2 impl when no custom impl was activated"
        )


__all__ = [
    "SDPBackend",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]


def _fused_sdp_choice(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """The number of the implementation that PyTorch takes on the CPU, MATH or FLASH_ATTENTION.

    RuntimeError where sdpa_kernel allows neither.
    """
    allowed = _cur_sdpa_kernel_backends()
    fits = not dropout_p and _flash_takes((query, key, value), attn_mask, enable_gqa)
    if SDPBackend.FLASH_ATTENTION in allowed and fits:
        return int(SDPBackend.FLASH_ATTENTION)
    if SDPBackend.MATH not in allowed:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return int(SDPBackend.MATH)


def _flash_takes(operands: tuple[torch.Tensor, ...], mask: torch.Tensor | None, enable_gqa: bool) -> bool:
    """Whether PyTorch's flash attention for the CPU takes query, key and value."""
    if any(x.is_nested or x.dim() != 4 for x in operands):
        return False
    query, key, _ = operands
    heads = [x.shape[1] for x in operands]
    grouped = enable_gqa and heads[1] == heads[2] and heads[0] % max(heads[1], 1) == 0
    alike = len({(x.shape[0], x.shape[3]) for x in operands}) == 1 and (grouped or len(set(heads)) == 1)
    rows, columns = query.shape[2], key.shape[2]
    if not (alike and rows and columns and query.is_floating_point()):
        return False
    if any(x.shape[3] != 1 and x.stride(3) != 1 for x in operands):
        return False
    return mask is None or _mask_fits(mask, (*query.shape[:2], rows, columns))


def _mask_fits(mask: torch.Tensor, sizes: tuple[int, ...]) -> bool:
    """Whether a mask without gradient is of (rows, columns) or of four dims, each whole or 1."""
    if mask.size(-2) not in (1, sizes[2]) or mask.dim() not in (2, 4) or mask.requires_grad:
        return False
    return all(n in (1, size) for n, size in zip(mask.shape, sizes[-mask.dim() :], strict=True))
