"""Constraints between types that are known in part."""

from __future__ import annotations


class Equality:
    """That two sizes, or types, are the same."""

    def __init__(self, lhs: object, rhs: object) -> None:
        self.lhs = lhs
        self.rhs = rhs

    def __repr__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and (self.lhs, self.rhs) == (other.lhs, other.rhs)
