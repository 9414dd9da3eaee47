"""PassManager of plain functions: runs them in the order given, which constraints check.

The one that orders passes itself and hands on PassResults is torch.fx.passes.infra.pass_manager's.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

logger = logging.getLogger(__name__)
Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def inplace_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, which changes its first argument in place, as a function that returns that argument."""

    @functools.wraps(fn)
    def changed(gm: Any, *args: Any, **kwargs: Any) -> Any:
        fn(gm, *args, **kwargs)
        return gm

    return changed


def log_hook(fn: Callable[..., Any], level: int = logging.INFO) -> Callable[..., Any]:
    """`fn`, with what it returns logged at a level."""

    @functools.wraps(fn)
    def logged(*args: Any, **kwargs: Any) -> Any:
        found = fn(*args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, found)
        return found

    return logged


def loop_pass(
    base_pass: Callable[[Any], Any],
    n_iter: int | None = None,
    predicate: Callable[[Any], bool] | None = None,
) -> Callable[[Any], Any]:
    """A pass that runs `base_pass` n_iter times, or while predicate(object); exactly one of them is given."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def looped(source: Any) -> Any:
        found = source
        if predicate is not None:
            while predicate(found):
                found = base_pass(found)
        elif n_iter is not None and n_iter > 0:
            for _ in range(n_iter):
                found = base_pass(found)
        else:
            raise RuntimeError(
                f"loop_pass must be given positive int n_iter (given {n_iter}) "
                f"xor predicate (given {predicate})"
            )
        return found

    return looped


def validate(constraint: Constraint, passes: list[Pass]) -> None:
    """RuntimeError where two of `passes` stand in an order that a constraint forbids."""
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :], i + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {second} before {first} "
                    f"but found {first} at index {i} and {second} at index {j} in pass list."
                )


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """A constraint: `this` may not come after `that`."""

    def allowed(a: Pass, b: Pass) -> bool:
        return a != that or b != this

    return allowed


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Constraint:
    """A constraint: a pass that wraps `these` may not come after one that wraps `those`."""

    def allowed(a: Pass, b: Pass) -> bool:
        return bool(inspect.unwrap(a) != those or inspect.unwrap(b) != these)

    return allowed


class PassManager:
    """Runs passes one after another, each on what the one before gave.

    passes: functions of an object that return the changed object.
    constraints: functions of two passes, False where the first may not come before the second.
    """

    passes: list[Pass]
    constraints: list[Constraint]

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """A manager of these passes, without constraints."""
        return cls(passes)

    def add_pass(self, _pass: Pass) -> None:
        """Run this pass, too, last."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Hold the order to this constraint, too."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Leave out the passes of these names."""
        if _passes is not None:
            self.passes = [each for each in self.passes if each.__name__ not in _passes]
            self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Run `_replacement` in the place of the passes that have the name of `_target`."""
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self) -> None:
        """RuntimeError where the order of the passes breaks a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                validate(constraint, self.passes)
            self._validated = True

    def __call__(self, source: Any) -> Any:
        """What the last pass gives, when the first is given `source`."""
        self.validate()
        found = source
        for each in self.passes:
            found = each(found)
        return found
