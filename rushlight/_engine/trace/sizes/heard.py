"""The numbers that a call's ops are given, whatever its values are: sizes, places, integers of Python's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Array, Entry, gathered, root

# Rows whose operands tell how many sequences there are at each step.
RECURRENT = ("_recurrence", "_recurrence_backward")


class Heard:
    """What a recorder was told. said: equal for calls that differ in `numbers` alone.

    Values may hide that a program does something else than a call at its sizes: those of a mask, or zeros
    that something is warmed up with. These numbers tell.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        given: Sequence[Tensor],
        known: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> None:
        self.numbers: list[int] = []
        # Which of them is the stride of a dim, and which its size.
        self._strides: list[tuple[int, int]] = []
        # By its id, which memory it is, and where places in it are counted from.
        self._places: dict[int, tuple[int, int]] = {}
        for a in [t._memory for t in (*given, *known)]:
            self._places.setdefault(id(root(a)), (len(self._places), pointer(a)))
        told = [e for e in entries if e.kind in ("run", "write") and e.function is not gathered]
        self.said = [self._entry(e) for e in told], [self._array(t._array) for t in results]

    def confirms(self, numbers: Sequence[int]) -> bool:
        """Whether a call that is said to do the same has these numbers, where they mean something."""
        free = {step for step, size in self._strides if self.numbers[size] <= 1}
        return len(numbers) == len(self.numbers) and all(
            a == b or n in free for n, (a, b) in enumerate(zip(self.numbers, numbers, strict=True))
        )

    def _entry(self, e: Entry) -> Any:
        operands = self._spans(e.operands) if e.name in RECURRENT else self._tree(e.operands)
        return e.name, self._function(e), operands, [self._array(o) for o in e.outs]

    def _spans(self, operands: tuple[Any, ...]) -> Any:
        """A recurrence's operands. Among them is the count of sequences at each step, the same as a rule."""
        found: list[Any] = []
        for value in operands:
            same = value.__class__ is tuple and len(set(value)) == 1 and type(value[0]) is int
            found.append(self._tree((value[0], len(value)) if same else value))
        return found

    def _array(self, a: Array) -> Any:
        of, start = self._places.setdefault(id(root(a)), (len(self._places), pointer(a)))
        first, ndim = len(self.numbers) + 1, a.ndim
        self._strides += [(first + ndim + k, first + k) for k in range(ndim)]
        self.numbers += pointer(a) - start, *a.shape, *a.strides
        return of, a.dtype, a.ndim

    def _function(self, e: Entry) -> Any:
        function = e.function
        if function is np.array:  # of Python's numbers
            return [(v.dtype, v.tobytes()) for v in e.operands]
        if isinstance(function, partial):
            return self._tree((function.args, tuple(function.keywords.values())))
        if isinstance(function, MethodType) and isinstance(function.__self__, Fill):
            made = function.__self__
            return self._tree((tuple(made.sizes), tuple(made.strides or ()), np.asarray(made.value).item()))
        return None

    def _tree(self, value: Any) -> Any:
        cls = value.__class__
        if cls is int:
            self.numbers.append(value)
            return int
        if isinstance(value, Tensor):
            return self._array(value._array)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, (tuple, list)):
            return [self._tree(v) for v in value]
        if isinstance(value, dict):
            return [self._tree(v) for v in value.values()]
        return value if cls in (bool, float, complex, str) else cls
