"""Steps of a program by Python: for what is not known natively, and for machines without LLVM."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rushlight.capture.kernelnode import Kernel, whole
from rushlight.capture.recorder import Entry

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def prepared(entry: Entry) -> Step:
    """What to call at every replay."""
    function, operands = entry.function, entry.operands
    if entry.kind != "run":
        stepped = hasattr(getattr(function, "func", None), "hooked")
        again = getattr(function.args[0], "again", None) if stepped else None  # type: ignore[attr-defined]
        return partial(function, *operands) if again is None else again(function)
    if isinstance(function, Kernel) and function.form == "full":
        return whole(entry)
    if isinstance(function, Kernel):
        return partial(function.made.fn, *operands[0], *entry.outs)
    return partial(_into, function, operands, entry.outs)


def _into(function: Callable[..., Any], operands: tuple[Any, ...], outs: tuple[Array, ...]) -> None:
    made = function(*operands)
    made = made if isinstance(made, tuple) else (made,)
    arrays = [a for a in made if isinstance(a, (np.ndarray, np.generic))]
    for out, a in zip(outs, arrays, strict=len(outs) > 1):
        out[...] = a
