"""What modules of devices and libraries that are not there answer: PyTorch's build for CPUs has them, too.

absent_devices.tsv says what: module, the type that is made or raised, the words of an exception, names of
functions.
"""

from __future__ import annotations

import builtins
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rushlight._engine.lazy import package as _package

with open(os.path.join(os.path.dirname(__file__), "absent_devices.tsv"), encoding="utf-8") as _file:
    _LINES = [line.rstrip("\n").split("\t") for line in _file]
_TYPES: dict[str, Any] = {
    **vars(builtins),
    "None": type(None),
    "OrderedDict": OrderedDict,
    "nullcontext": nullcontext,
    "contextmanager": contextmanager,
}


class OutOfMemoryError(RuntimeError):
    """A device's memory is full: what was asked for, and what there is, is said in the message."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """A device refused, or failed at, what was asked of it."""

    __module__ = "torch"


@contextmanager
def _entered(told: str) -> Iterator[None]:
    raise AssertionError(told)
    yield


def _function(module: str, name: str, kind: Any, words: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        """As PyTorch's without such a device."""
        if not words:
            return kind()
        told = (
            f"{words.rstrip('.')}: torch.{module}.{name} needs a device that is not there. Rushlight "
            f"computes on the CPU; ask torch.{module.partition('.')[0]}.is_available() first"
        )
        if kind is contextmanager:  # what refuses when its block is entered
            return _entered(told)
        raise kind(told)

    run.__name__ = run.__qualname__ = name
    run.__module__ = f"{_package()}.{module}"
    # Types stay types: annotations and isinstance() name them, and only making one raises.
    return type(name, (), {"__new__": run, "__module__": f"torch.{module}"}) if name[0].isupper() else run


def functions(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module; none looks at its arguments."""
    return {
        name: _function(module, name, _TYPES[kind], words)
        for of, kind, words, names in _LINES
        if of == module
        for name in names.split()
    }
