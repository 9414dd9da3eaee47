"""PassManager of passes that return a PassResult: orders them by constraints, repeats them, checks."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from rushlight import nn
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.passes.infra.pass_base import PassResult
from rushlight.fx.passes.pass_manager import Constraint, this_before_that_pass_constraint, validate

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)
logger.setLevel(logging.WARNING)
Pass = Callable[..., Any]


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Callable[..., PassResult | None] | None:
    """`fn`, which returns a module or None, as a pass whose PassResult always says that it changed."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: nn.Module) -> PassResult | None:
        found = fn(gm)
        if found is None:
            return PassResult(gm, True)
        if isinstance(found, PassResult):
            return found
        return PassResult(found, True) if isinstance(found, nn.Module) else None

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def _name(fn: Pass) -> str:
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


def _ordered(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """`passes` in an order that no constraint forbids; RuntimeError where there is none."""
    if not constraints:
        return passes
    waiting = dict.fromkeys(passes, 0)
    after: dict[Pass, list[Pass]] = {p: [] for p in passes}
    for a in passes:
        for b in passes:
            broken = sum(not allowed(a, b) for allowed in constraints) if a != b else 0
            waiting[a] += broken
            after[b] += [a] * broken
    found = [p for p in passes if not waiting[p]]
    for each in found:  # it grows
        for later in after[each]:
            waiting[later] -= 1
            if not waiting[later]:
                found.append(later)
    left = [p for p in waiting if waiting[p]]
    if left:
        raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
    return found


class PassManager:
    """Runs passes in an order that satisfies the constraints, up to `steps` times, until nothing changes.

    passes: functions of a module that return a PassResult.
    constraints: functions of two passes, False where the first may not come before the second.
    steps: how often all passes are run at most, default 1.
    run_checks_after_each_pass: whether check() is called after each pass, not only before the first.
    suppress_check_failures: kept as an attribute, as in PyTorch, which does nothing with it.
    """

    passes: list[Pass]
    constraints: list[Constraint]
    steps: int = 1

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False
        self._check: Callable[[nn.Module], None] | None = None

    def add_pass(self, _pass: Pass) -> None:
        """Run this pass, too."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Hold the order to this constraint, too."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """RuntimeError where the order of the passes breaks a constraint."""
        if not self._validated:
            for constraint in self.constraints:
                validate(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow; RuntimeError where there is none."""
        self.passes = _ordered(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[nn.Module], None]) -> None:
        """Let check() be this function of the module; TypeError where it takes more than one argument."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self._check = check

    def check(self, module: nn.Module) -> None:
        """What must hold between passes; nothing, unless add_checks() said what."""
        if self._check is not None:
            self._check(module)

    def __call__(self, module: nn.Module) -> PassResult:
        """Run the passes; the module, and whether a pass changed it."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            module, modified = self._round(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _round(self, module: nn.Module) -> tuple[nn.Module, bool]:
        modified = False
        for i, fn in enumerate(self.passes):
            name = _name(fn)
            logger.debug("Running pass '%s'", name)
            try:
                found = fn(module)
                if not isinstance(found, PassResult) and not hasattr(found, "graph_module"):
                    raise TypeError(
                        f"The result of the pass {name} should be type PassResult."
                        "Please wrap it with pass_result_wrapper()"
                    )
                module, modified = found.graph_module, modified or found.modified
                if isinstance(module, GraphModule):
                    logger.debug("Graph after pass '%s': %s", name, module.graph)
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            except Exception as error:
                before = [_name(p) for p in self.passes[:i]]
                raise Exception(
                    f"An error occurred when running the '{name}' pass after the following passes: {before}"
                ) from error
        return module, modified
