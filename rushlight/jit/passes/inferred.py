"""The type that a value would have in TorchScript: torch._C._jit_try_infer_type."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.jit.program.graphtypes import Type, typed
from rushlight.jit.program.types import Type as Plain, of_value

_NONE = (
    "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or "
    "outputs of traced functions, but instead got value of type {}."
)


class InferredType:
    """A type, or why there is none."""

    def __init__(self, found: Plain | str) -> None:
        self._found = found

    def success(self) -> bool:
        """Whether there is one."""
        return not isinstance(self._found, str)

    def type(self) -> Type:
        """The type; RuntimeError where there is none."""
        if isinstance(self._found, str):
            raise RuntimeError(self._found)
        return typed(self._found)

    def reason(self) -> str:
        """Why there is none."""
        return self._found if isinstance(self._found, str) else ""


def try_infer_type(value: Any) -> InferredType:
    """The type of a value, in an InferredType."""
    try:
        return InferredType(_of(value))
    except TypeError as error:
        return InferredType(str(error))


def _of(value: Any) -> Plain:
    if isinstance(value, tuple):
        return Plain("Tuple", tuple(map(_of, value)))
    if isinstance(value, list):
        return Plain("List", (_common(value, "List trace inputs", "List inputs to traced functions"),))
    if isinstance(value, dict):
        words = "Dictionary inputs", "Dictionary inputs to traced functions"
        return Plain("Dict", tuple(_common(list(part), *words) for part in (value.keys(), value.values())))
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return Plain("int")
    try:
        return of_value(value)
    except TypeError:
        raise TypeError(_NONE.format(type(value).__name__)) from None


def _common(items: list[Any], empty: str, mixed: str) -> Plain:
    if not items:
        raise TypeError(f"{empty} must have {'elements' if empty.startswith('List') else 'entries'}")
    kinds = list(dict.fromkeys(map(_of, items)))
    if len(kinds) > 1:
        raise TypeError(f"{mixed} must have consistent element type. Found {kinds[0]} and {kinds[1]}")
    return kinds[0]
