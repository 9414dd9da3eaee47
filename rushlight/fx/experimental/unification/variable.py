"""Variables of unification."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager

__all__ = ["Var", "isvar", "var", "variables", "vars"]

_numbers = itertools.count(1)
_declared: set[Hashable] = set()  # values that are variables inside `variables()`


class Var:
    """A variable. Variables of the same token are the same; without a token it is a new one."""

    token: Hashable

    def __init__(self, *token: Hashable) -> None:
        if len(token) == 1:
            self.token = token[0]
        else:
            self.token = token or f"_{next(_numbers)}"

    def __repr__(self) -> str:
        return f"~{self.token}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Var) and type(self) is type(other) and self.token == other.token

    def __hash__(self) -> int:
        return hash((type(self), self.token))


def var() -> Callable[..., Var]:
    """A function that makes variables."""
    return lambda *args: Var(*args)


def vars() -> Callable[[int], list[Callable[..., Var]]]:
    """A function that makes `n` functions that make variables."""
    return lambda n: [var() for _ in range(n)]


def hashable(x: object) -> bool:
    """Whether this has a hash: a tuple with a list in it has none."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def isvar(v: object) -> bool:
    """Whether this is a variable: a Var, or a value that `variables()` declares."""
    if isinstance(v, Var):
        return True
    return bool(_declared) and hashable(v) and v in _declared


@contextmanager
def variables(*variables: Hashable) -> Generator[None, None, None]:
    """Inside it these values are variables."""
    before = set(_declared)
    _declared.update(variables)
    try:
        yield
    finally:
        _declared.clear()
        _declared.update(before)
