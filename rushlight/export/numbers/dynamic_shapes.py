"""torch.export.dynamic_shapes: sizes that may change, and Dims as the fixes say that an error suggests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rushlight._engine.core.pytree import kind_of
from rushlight.export.symbols import (
    AdditionalInputs,
    Dim,
    ShapesCollection,
    _Hint,
    _IntWrapper,
    children,
    dims,
)

__all__ = [
    "AdditionalInputs",
    "Dim",
    "ShapesCollection",
    "_DimHint",
    "_IntWrapper",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]
_DimHint = _Hint

_LINEAR = re.compile(r"(?:(\d+)\*)?(\w+)(?: ([+-]) (\d+))?$")
_BOUNDED = re.compile(r"Dim\('(\w+)'(?:, min=(\d+))?(?:, max=(\w+))?\)$")


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """dynamic_shapes with what the "Suggested fixes" of an error's text say of its Dims: numbers, other
    bounds, or Dims that follow others.

    ValueError for a text that suggests none.
    """
    _, found, fixes = msg.partition("Suggested fixes:")
    if not found:
        raise ValueError("Suggested fixes not found in the message")
    known: dict[str, Any] = {}
    _named(dynamic_shapes, known)
    told = dict(re.findall(r"^\s+(\w+) = (.+)$", fixes, re.MULTILINE))
    for name, text in told.items():
        bounds = _BOUNDED.match(text)
        if bounds is not None:
            low, high = bounds[2], bounds[3]
            most = None if high in (None, "oo") else int(high)
            known[name] = Dim(name, min=None if low is None else int(low), max=most)
    for name, text in told.items():
        if not text.startswith("Dim("):
            known[name] = int(text) if text.isdigit() else _follows(text, known)
    return _refined(dynamic_shapes, known)


def _named(shape: Any, known: dict[str, Any]) -> None:
    """Collect the Dims that stand in a structure by themselves."""
    if isinstance(shape, Dim):
        known.setdefault(shape.root.__name__, shape.root)
    elif not isinstance(shape, _Hint) and kind_of(shape) is not None:
        for _, part in children(shape):
            _named(part, known)


def _follows(text: str, known: Mapping[str, Any]) -> Any:
    parts = _LINEAR.match(text)
    if parts is None:
        raise ValueError(f"{text!r} is no size that follows another")
    by, name, sign, plus = parts.groups()
    root = known.get(name)
    found = Dim(name) if root is None else root
    if by is not None:
        found = found * int(by)
    if plus is not None:
        found = found + int(plus) * (-1 if sign == "-" else 1)
    return found


def _refined(shape: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(shape, Dim):
        root = known[shape.root.__name__]
        if shape.root is shape:
            return root
        if isinstance(root, int):
            return shape.of(root)
        plus, by = shape.of(0), shape.of(1) - shape.of(0)
        found = root * by if by != 1 else root
        return found + plus if plus else found
    if isinstance(shape, dict):
        return {key: _refined(part, known) for key, part in shape.items()}
    if isinstance(shape, (tuple, list)) and not isinstance(shape, _Hint):
        return type(shape)(_refined(part, known) for part in shape)
    return shape
