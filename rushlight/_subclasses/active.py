"""torch._guards: which FakeTensorMode a call runs under, and in what context a program is traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rushlight._engine.core.pytree import flatten
from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from rushlight.utils._python_dispatch import _get_current_dispatch_mode_stack
from rushlight.utils.weak import WeakTensorKeyDictionary


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


class TracingContext:
    """What is known while a program is traced: its FakeTensorMode, and facts of tensors."""

    def __init__(self, fake_mode: FakeTensorMode | None = None) -> None:
        self.fake_mode = fake_mode
        self.tensor_to_context: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
        self.params_flat: list[Any] | None = None
        self.global_context = self.module_context = self.guards_context = None

    @staticmethod
    def try_get() -> TracingContext | None:
        """The context that is entered (see tracing()); None without."""
        return _CONTEXTS[-1] if _CONTEXTS else None

    @staticmethod
    def get() -> TracingContext:
        """The context that is entered; RuntimeError without."""
        if not _CONTEXTS or _CONTEXTS[-1] is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return _CONTEXTS[-1]


_CONTEXTS: list[TracingContext | None] = []


@contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """A context inside of which TracingContext.get() gives this one."""
    _CONTEXTS.append(context)
    try:
        yield context
    finally:
        _CONTEXTS.pop()
