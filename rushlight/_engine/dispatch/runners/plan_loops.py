"""Loops over few elements that follow each other in a plan are one native call, with memory of its own for
what only they see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer

Array = np.ndarray[Any, Any]
# What results that nobody else sees begin at multiples of, in bytes.
_APART = 64


class Loops:
    """Stages (kernels/runtime/stages.py) on arrays that stand for those of later calls, which may lie
    anywhere else, and be one another's memory.
    """

    def __init__(self) -> None:
        self.stages = list[Any]()
        # results that lines beside these loops name
        self.seen = set[str]()
        self._standing, self._met = dict[int, Array](), list[Array]()  # by the arrays met, which are kept
        self._owners = list[tuple[Array, str, str]]()  # what stands for memory, its code, and how it is made

    def standing(self, a: Array) -> Array | None:
        """What stands for an array that was met."""
        return self._standing.get(id(a))

    def view(self, a: Array, base: Array) -> Array:
        """What stands for a view of an array that was met."""
        place = pointer(a) - pointer(base)
        return self._meet(a, np.ndarray(a.shape, a.dtype, self._standing[id(base)], place, a.strides))

    def given(self, a: Array, code: str) -> Array:
        """What stands for an array that lines before have."""
        return self._own(a, code, "")

    def result(self, a: Array, name: str, zeros: bool = False) -> Array:
        """What stands for a result; zeros: which a stage adds to."""
        return self._own(a, name, "zeros" if zeros else "empty")

    def _own(self, a: Array, code: str, made: str) -> Array:
        found = np.empty(a.shape, a.dtype)
        self._owners.append((found, code, made))
        return self._meet(a, found)

    def _meet(self, a: Array, found: Array) -> Array:
        self._standing[id(a)] = found
        self._met.append(a)
        return found

    def lines(self, constant: Callable[[Any], str], joined: Callable[..., Any]) -> list[str]:
        """The plan's lines. constant: gives the code of a value; joined: small_calls.joined."""
        lines, names, places, size, how = list[str](), list[str](), list[Any](), 0, "empty"
        for a, code, made in self._owners:
            if made and code not in self.seen:
                places.append((a, -1, size))
                size += -(-a.nbytes // _APART) * _APART
                how = "zeros" if made == "zeros" else how
                continue
            if made:
                lines.append(f"{code} = {made}({constant(a.shape)}, {constant(a.dtype)})")
            places.append((a, len(names), 0))
            names.append(code)
        if size:
            names.append(f"{how}({size}, 'B')")
        found = joined(self.stages, [(a, len(names) - 1 if of < 0 else of, place) for a, of, place in places])
        return [*lines, f"{constant(found)}({', '.join(names)})"]
