"""An optimizer's step inside a compiled program: decided beforehand, while it is about the same objects.

Options, states, gradients and their memory are compared before every step. If anything is not what it was, or
if somebody listens, the ordinary step runs, and the next one is decided anew.
"""
from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, is_
from struct import Struct
from typing import Any

import numpy as np

from rushlight.base.spans import SPANS
from rushlight.compiler.stages import Run, copy
from rushlight.optim import optimizer as base
from rushlight.optim import updates
from rushlight.optim.elementwise import Elementwise, Plan, number
from rushlight.tensor.tensor import Tensor

_gradient, _memory = attrgetter("_grad"), attrgetter("_a")
# How often a step is decided beforehand before it is left alone.
_MOST = 16


class Again:
    """Call it for `step`, which is the optimizer's step()."""

    def __init__(self, optimizer: Elementwise, step: Callable[[], Any]) -> None:
        self.optimizer, self.step, self.left = optimizer, step, _MOST
        self.groups: list[_Group] = []

    def __call__(self) -> None:
        """One step."""
        o, groups, own = self.optimizer, self.groups, self.optimizer.__dict__
        heard = SPANS or base._global_pre or base._global_post or (
            own["_optimizer_step_pre_hooks"] or own["_optimizer_step_post_hooks"])
        if groups and not heard and len(groups) == len(o.param_groups) and all(
                [known.holds(group) for known, group in zip(groups, o.param_groups)]):
            for known in groups:
                known.run()
            return
        self.step()
        if self.left and type(o)._update is Elementwise._update and (
                getattr(type(o).step, "__wrapped__", None) is base.Optimizer.step):
            self.left -= 1
            try:
                self.groups = [_Group(o, group) for group in o.param_groups]
            except _Other:
                self.groups = []


class _Other(Exception):
    """A step takes more than its kernel."""


class _Group:
    """A group that has just been stepped."""

    def __init__(self, o: Elementwise, group: dict[str, Any]) -> None:
        members, plans = o.__dict__.get("_plans", {}).get(id(group), ((), ()))
        self.o, self.group, self.params = o, group, [*group["params"]]
        self.names = ("capturable", "differentiable", "foreach", "fused", *o._switches)
        self.values = [*map(group.get, self.names)]
        if not members or group.get("differentiable") or any(isinstance(v, Tensor) for v in self.values):
            raise _Other
        self.gradients = [*map(_gradient, self.params)]
        self.given = [g for g in self.gradients if g is not None]
        self.held = [*map(_memory, self.given)]
        self.steps = [_Step(o, group, plan) for plan in plans]

    def holds(self, group: dict[str, Any]) -> bool:
        """Whether the next step is about the same objects."""
        params = group["params"]
        return group is self.group and [*map(group.get, self.names)] == self.values and (
            len(params) == len(self.params) and all(map(is_, params, self.params))
            and all(map(is_, map(_gradient, params), self.gradients))
            and all(map(is_, map(_memory, self.given), self.held))
            and all([s.plan.fits(self.o.state) and s.ready(group) for s in self.steps]))

    def run(self) -> None:
        """Step the group."""
        for s in self.steps:
            s.run(self.group)


class _Step:
    """The native work for one plan of a group, and where it finds its numbers."""

    def __init__(self, o: Elementwise, group: dict[str, Any], plan: Plan) -> None:
        self.o, self.plan, self.options = o, plan, o._options(group, plan)
        kernel = updates.kernel(o._formula, plan.names, self.options, bool(group.get("fused")))
        self.scalars, self.count = np.zeros(len(kernel.scalars) + 1), np.zeros((), np.float32)
        self.pack = Struct(f"{len(kernel.scalars)}d").pack_into
        update = kernel.staged(plan.arrays(), self.scalars)
        stages = [update, *[copy(c, self.count) for c in plan.counters if update]]
        if None in stages:
            raise _Other
        self.native = Run([([s for found in stages for s in found], self._refused)])  # type: ignore[union-attr]

    def _refused(self) -> None:
        raise RuntimeError("an optimizer's arrays were reshaped in place: assign new ones instead")

    def ready(self, group: dict[str, Any]) -> bool:
        """Whether the step to come has the same formula."""
        plan = self.plan
        before = int(plan.counters[0]) if plan.counters else plan.step
        plan.step = before + 1
        same: bool = self.o._options(group, plan) == self.options
        plan.step = before + same
        return same

    def run(self, group: dict[str, Any]) -> None:
        """Step the plan's parameters; `ready` has counted."""
        plan = self.plan
        self.pack(self.scalars, 0, *self.o._scalars(group, number(group["lr"]), plan.step, plan))
        self.count[()] = plan.step
        self.native()
        for s in plan.storages:
            s.version += 1
