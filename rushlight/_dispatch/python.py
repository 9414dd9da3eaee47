"""torch._dispatch.python: functions that Python has given for ops are looked at in every call here, so that
what turns this on and off in PyTorch has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rushlight.library import defined

__all__ = [
    "enable_crossref_functionalize",
    "enable_pre_dispatch",
    "enable_python_dispatcher",
    "no_python_dispatcher",
]


def enable_python_dispatcher() -> AbstractContextManager[None]:
    """A `with` block in which functions of Python for ops are called: they always are."""
    return nullcontext()


class EnablePythonDispatcher:
    """What enable_python_dispatcher() is in PyTorch, while it lives."""


def no_python_dispatcher() -> AbstractContextManager[None]:
    """A `with` block in which PyTorch calls its own functions; here there are no others for its ops."""
    return nullcontext()


def enable_pre_dispatch() -> AbstractContextManager[None]:
    """A `with` block in which listeners that want to hear ops before autograd do: they always do."""
    return nullcontext()


@contextmanager
def enable_crossref_functionalize() -> Iterator[None]:
    """A `with` block in which results of functional tensors are held to what the op makes of plain ones that
    have no numbers: AssertionError for another shape, dtype, stride or offset.
    """
    from rushlight._torch_dispatch.functionalization import LOCAL  # few programs need it

    before, LOCAL.compared = LOCAL.compared, True
    try:
        yield
    finally:
        LOCAL.compared = before


def all_py_loaded_overloads() -> Iterator[Any]:
    """The overloads of ops that programs have defined."""
    return (op._opoverload for op in defined())
