"""NumPy's floating-point warnings off, at a tenth of the price of np.errstate.

token = hush()
try: ...
finally: restore(token)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

try:
    # What np.errstate sets on entry; it is part of no public interface.
    from numpy._core._ufunc_config import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]

    # Ignores all floating-point errors from here on; gives what `restore` needs.
    hush = partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    # The same for elementwise kernels: NumPy's iterator copies what repeats into its buffer if that holds two
    # lines, which takes longer than the arithmetic. (Sums are grouped by the buffer, and must keep theirs.)
    straight = partial(_extobj_contextvar.set, _make_extobj(all="ignore", bufsize=512))
    # The same, but that a division of integers by 0 raises FloatingPointError.
    strict = partial(_extobj_contextvar.set, _make_extobj(all="ignore", divide="raise"))
    restore = _extobj_contextvar.reset
except ImportError:

    def hush(divide: Any = "ignore") -> Any:  # type: ignore[misc]
        """Ignore all floating-point errors from here on; gives what `restore` needs."""
        manager = np.errstate(all="ignore", divide=divide)
        manager.__enter__()
        return manager

    straight, strict = hush, partial(hush, "raise")

    def restore(token: Any) -> None:
        """Back to what was set before `hush`."""
        token.__exit__(None, None, None)


_WITHOUT_FLAGS = "_raises_no_flags"


def mark_without_flags(function: _Function) -> _Function:
    """Note of a function on arrays that it is a loop of ours: it raises no floating-point flags, so nobody
    needs to silence NumPy around it, and it gives an array where a ufunc would give a number. The same
    function.
    """
    setattr(function, _WITHOUT_FLAGS, True)
    return function


def raises_no_flags(function: Callable[..., Any]) -> bool:
    """Whether a function has been marked so."""
    return hasattr(function, _WITHOUT_FLAGS)
