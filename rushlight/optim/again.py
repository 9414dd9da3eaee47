"""An optimizer's step inside a compiled program: decided beforehand, while it is about the same objects.

Options, states, gradients and their memory are compared before every step. If anything is not what it was, or
if somebody listens, the ordinary step runs, and the next one is decided anew.
"""
from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from operator import attrgetter, is_
from struct import Struct
from typing import Any

import numpy as np

from rushlight.base.spans import SPANS
from rushlight.compiler.stages import Run, copy
from rushlight.optim import optimizer as base
from rushlight.optim import updates
from rushlight.optim.elementwise import Elementwise, Plan, number

_gradient, _memory = attrgetter("_grad"), attrgetter("_a")
# How often a step is decided anew before it is left alone.
_MOST = 16


class Again:
    """Call it for `step`, which is the optimizer's step()."""

    def __init__(self, optimizer: Elementwise, step: Callable[[], Any]) -> None:
        own = type(optimizer)
        plain = own._update is Elementwise._update and (
            getattr(own.step, "__wrapped__", None) is base.Optimizer.step)
        self.optimizer, self.step, self.left = optimizer, step, _MOST if plain else 0
        self.groups: list[_Group] = []

    def __call__(self) -> None:
        """One step."""
        o, groups, own = self.optimizer, self.groups, self.optimizer.__dict__
        heard = SPANS or base._global_pre or base._global_post or (
            own["_optimizer_step_pre_hooks"] or own["_optimizer_step_post_hooks"])
        if groups and not heard and len(groups) == len(o.param_groups) and all(
                [g.group is group and g.holds() for g, group in zip(groups, o.param_groups)]):
            for g in groups:
                g.run()
            return
        self.step()
        if self.left:
            self.left -= 1
            made = [_group(o, group) for group in o.param_groups]
            self.groups = [] if None in made else made  # type: ignore[assignment]


def _group(o: Elementwise, group: dict[str, Any]) -> "_Group | None":
    """A group that has just been stepped by one kernel for all its parameters, if it has."""
    plans = o.__dict__.get("_plans", {}).get(id(group), ((), ()))[1]
    if len(plans) != 1 or len(plans[0].params) != len(group["params"]) or group.get("differentiable"):
        return None
    made = _Group(o, group, plans[0])
    return made if made.native is not None else None


class _Group:
    """A group of an optimizer, and where its kernel finds the next step's numbers."""

    def __init__(self, o: Elementwise, group: dict[str, Any], plan: Plan) -> None:
        self.o, self.group, self.plan = o, group, plan
        self.gradients = [*map(_gradient, self.plan.params)]
        self.held = [*map(_memory, self.gradients)]
        self.options, self.fused = o._options(group, self.plan), bool(group.get("fused"))
        kernel = updates.kernel(o._formula, self.plan.names, self.options, self.fused)
        self.scalars, self.count = np.zeros(len(kernel.scalars) + 1), np.zeros((), np.float32)
        self.pack = Struct(f"{len(kernel.scalars)}d").pack_into
        update = kernel.staged([*chain.from_iterable(self.plan.arrays())], self.scalars)
        stages = [update, *[copy(c, self.count) for c in self.plan.counters if update]]
        self.native = None if None in stages else Run([([*chain.from_iterable(stages)], _refused)])

    def holds(self) -> bool:
        """Whether the next step is about the same objects, by the same formula."""
        o, group, plan = self.o, self.group, self.plan
        if o._key(group) != plan.key or bool(group.get("fused")) != self.fused or not (
                len(group["params"]) == len(plan.params) and all(map(is_, group["params"], plan.params))
                and all(map(is_, map(_gradient, plan.params), self.gradients))
                and all(map(is_, map(_memory, self.gradients), self.held)) and plan.fits(o.state)):
            return False
        before = plan.step
        plan.step = (int(plan.counters[0]) if plan.counters else before) + 1
        same: bool = o._options(group, plan) == self.options
        plan.step -= 1
        return same

    def run(self) -> None:
        """The step."""
        plan = self.plan
        plan.step += 1
        self.pack(self.scalars, 0, *self.o._scalars(self.group, number(self.group["lr"]), plan.step, plan))
        self.count[()] = plan.step
        self.native()  # type: ignore[misc]
        for s in plan.storages:
            s.version += 1


def _refused() -> None:
    raise RuntimeError("an optimizer's arrays were reshaped in place: assign new ones instead")
