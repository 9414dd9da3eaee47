"""Unification of terms: tuples, lists, and objects of classes that are declared unifiable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from rushlight.fx.experimental.unification.variable import hashable, isvar

__all__ = ["reify", "unifiable", "unify"]

Substitution = dict[Any, Any]

_C = TypeVar("_C", bound=type)
_TERMS: set[type] = set()  # classes whose objects are unified by their attributes


def unifiable(cls: _C) -> _C:
    """Declare that objects of this class are unified, and reified, by their attributes."""
    _TERMS.add(cls)
    return cls


def _attributes(term: object) -> dict[str, Any]:
    """What an object of a unifiable class is made of."""
    slots = getattr(type(term), "__slots__", None)
    return dict(vars(term)) if slots is None else {name: getattr(term, name) for name in slots}


def _is_term(value: object) -> bool:
    return any(base in _TERMS for base in type(value).__mro__)


def reify(e: Any, s: Substitution) -> Any:
    """`e` with the values of its variables in their places."""
    if isvar(e):
        return reify(s[e], s) if e in s else e
    if isinstance(e, Iterator):
        return (reify(part, s) for part in e)
    if isinstance(e, tuple):
        return tuple(reify(part, s) for part in e)
    if isinstance(e, list):
        return [reify(part, s) for part in e]
    if isinstance(e, dict):
        return {key: reify(part, s) for key, part in e.items()}
    if not _is_term(e):
        return e
    parts = _attributes(e)
    found = reify(parts, s)
    if found == parts:
        return e
    made = object.__new__(type(e))
    for name, part in found.items():
        setattr(made, name, part)
    return made


def _value(key: Any, s: Substitution) -> Any:
    """What a variable stands for, as far as it is known."""
    while hashable(key) and key in s:
        key = s[key]
    return key


def _pairs(u: Any, v: Any) -> list[tuple[Any, Any]] | None:
    """The parts of two terms that must be equal; None if the terms have not equally many."""
    if isinstance(u, (tuple, list)) and isinstance(v, (tuple, list)):
        return list(zip(u, v, strict=True)) if len(u) == len(v) else None
    if _is_term(u) and type(u) is type(v):
        left, right = _attributes(u), _attributes(v)
        return [(left[name], right[name]) for name in left] if left.keys() == right.keys() else None
    kinds = f"<{type(u).__name__}, {type(v).__name__}, dict>"
    raise NotImplementedError(f"Could not find signature for _unify: {kinds}")


def unify(u: Any, v: Any, s: Substitution | None = None) -> Any:
    """Values for variables that make `u` and `v` equal, together with those of `s`.

    False if two sequences differ in length, NotImplementedError if two other things differ.
    """
    known = {} if s is None else s
    u, v = _value(u, known), _value(v, known)
    if u == v:
        return known
    if isvar(u):
        return {**known, u: v}
    if isvar(v):
        return {**known, v: u}
    pairs = _pairs(u, v)
    if pairs is None:
        return False
    for one, other in pairs:
        found = unify(one, other, known)
        if found is False:
            return False
        known = found
    return known
