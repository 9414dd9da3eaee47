"""torch.use_deterministic_algorithms: the switch, and what it makes ops do.

Results here never depend on chance. What PyTorch refuses on the CPU while the switch is on is refused with
its words all the same, and memory that nobody wrote to is filled, so that a program finds its mistakes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn

OFF, WARN, ERROR = range(3)


class Determinism:
    """The state: one for the process."""

    level = OFF
    warn_only = False  # as it was last set, also where it has no effect
    fill_uninitialized_memory = True
    # Called when the level has been set: devices', which do other things then.
    listeners: tuple[Callable[[], None], ...] = ()

    @classmethod
    def set(cls, level: int, warn_only: bool) -> None:
        """Set the switch."""
        cls.level, cls.warn_only = level, warn_only
        for listener in cls.listeners:
            listener()


def alert(op: str) -> None:
    """Refuse an op whose result PyTorch leaves to chance, or warn, as the switch says."""
    if not Determinism.level:
        return
    on = f"does not have a deterministic implementation, but you set '{_SETTINGS[Determinism.level]}'."
    if Determinism.level == WARN:
        warn(
            f"{op} {on} You can file an issue at https://github.com/pytorch/pytorch/issues to help "
            "us prioritize adding deterministic support for this operation.",
            UserWarning,
        )
        return
    raise RuntimeError(
        f"{op} {on} You can turn off determinism just for this operation, or you can use the "
        "'warn_only=True' option, if that's acceptable for your application. You can also "
        "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize "
        "adding deterministic support for this operation."
    )


def alert_on_cuda(op: str, of: Any) -> None:
    """The same for an op that PyTorch leaves to chance on CUDA alone, called with this tensor."""
    if Determinism.level and of.is_cuda:
        alert(op)


_SETTINGS = {
    WARN: "torch.use_deterministic_algorithms(True, warn_only=True)",
    ERROR: "torch.use_deterministic_algorithms(True)",
}


def fill_unwritten(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array: where the switch is on, filled with nan, or the largest integer, or True."""
    value = unwritten(array.dtype)
    if value is not None:
        array.fill(value)
    return array


def unwritten(of: np.dtype[Any]) -> Any:
    """What memory that nobody has written holds where the switch is on; None where it is off."""
    if not (Determinism.level and Determinism.fill_uninitialized_memory):
        return None
    return True if of.kind == "b" else np.iinfo(of).max if of.kind in "iu" else np.nan
