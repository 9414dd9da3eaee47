"""Tensors that a program makes of numbers, which may depend on its inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any

import rushlight as torch
from rushlight.export import overloads
from rushlight.export.numbers.symbolic import any_symbolic, plain


class MadeOfNumbers:
    """The part of a Listener that tells `torch.tensor(numbers)`."""

    depth: int
    is_constant: Callable[[Any], bool]
    paused: Callable[[], AbstractContextManager[None]]
    record: Callable[..., Any]

    def of_numbers(self, data: Any, dtype: Any) -> Any:
        """The tensor of numbers and nested lists of them, told as such; None where none depends on inputs."""
        if self.depth or self.is_constant(None if any_symbolic((data,)) else True):
            return None
        return self._told(data, dtype or _made_of(data))

    def _told(self, part: Any, kind: Any) -> Any:
        if isinstance(part, (list, tuple)):
            return torch.stack([self._told(inner, kind) for inner in part])
        with self.paused():
            made = torch.scalar_tensor(plain(part), dtype=kind)
        target = overloads.named("torch.ops.aten.scalar_tensor.default")
        self.record(target, (part,), {"dtype": kind}, made)
        return made


def _made_of(data: Any) -> Any:
    """The dtype of a tensor of numbers, or of nested lists of them."""
    if isinstance(data, (list, tuple)):
        return reduce(torch.promote_types, map(_made_of, data))
    value = plain(data)
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, complex):
        return torch.get_default_dtype().to_complex()
    return torch.int64 if isinstance(value, int) else torch.get_default_dtype()
