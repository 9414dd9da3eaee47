"""torch.utils._mode_utils: small helpers of those who write modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.dispatch import interpreters


@contextmanager
def no_dispatch() -> Iterator[None]:
    """A context in which no mode and no class hears of ops below autograd."""
    modes, before = list(interpreters.STACK.modes), interpreters.CLASSES.below
    interpreters.STACK.modes[:] = [m for m in modes if not hasattr(m, "__torch_dispatch__")]
    interpreters.CLASSES.below = False
    try:
        yield
    finally:
        interpreters.STACK.modes[:] = modes
        interpreters.CLASSES.below = before


def all_same_mode(modes: Any) -> bool:
    """Whether these are one mode."""
    return all(tuple(mode == modes[0] for mode in modes))
