"""torch.utils._mode_utils: small helpers of those who write modes."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight.dispatch import state


@contextmanager
def no_dispatch() -> Iterator[None]:
    """A context in which no mode and no class hears of ops below autograd."""
    modes, before = list(state.STACK.modes), state.CLASSES.below
    state.STACK.modes[:] = [m for m in modes if not hasattr(m, "__torch_dispatch__")]
    state.CLASSES.below = False
    try:
        yield
    finally:
        state.STACK.modes[:] = modes
        state.CLASSES.below = before


def all_same_mode(modes: Any) -> bool:
    """Whether these are one mode."""
    return all(tuple(mode == modes[0] for mode in modes))
