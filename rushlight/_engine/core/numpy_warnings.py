"""NumPy's floating-point warnings off, at a tenth of the price of np.errstate.

token = hush()
try: ...
finally: restore(token)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

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
