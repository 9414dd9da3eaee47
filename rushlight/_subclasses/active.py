"""torch._guards: which FakeTensorMode a call runs under."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.pytree import flatten
from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from rushlight.utils._python_dispatch import _get_current_dispatch_mode_stack


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost FakeTensorMode that is entered; None without."""
    return next(iter(_entered()), None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The FakeTensorMode that is entered or that tensors in `inputs` are of; None without.

    AssertionError where these are several.
    """
    found = [*_entered(), *[leaf.fake_mode for leaf in flatten(inputs)[0] if isinstance(leaf, FakeTensor)]]
    for mode in found[1:]:
        if mode is not found[0]:
            raise AssertionError(
                f"fake mode ({found[0]}) is not the same as ({mode}) of another input or mode"
            )
    return found[0] if found else None


def _entered() -> list[FakeTensorMode]:
    return [m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, FakeTensorMode)]
