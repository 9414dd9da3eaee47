"""torch._functorch.utils: types and a switch of PyTorch's transforms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight._functorch.interpreters import (
    get_single_level_autograd_function_allowed,
    set_single_level_autograd_function_allowed,
)

__all__ = ["argnums_t", "enable_single_level_autograd_function"]
argnums_t = int | tuple[int, ...]


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """A context in which a Function of one level may be applied; it always may here."""
    before = get_single_level_autograd_function_allowed()
    set_single_level_autograd_function_allowed(True)
    try:
        yield
    finally:
        set_single_level_autograd_function_allowed(before)
