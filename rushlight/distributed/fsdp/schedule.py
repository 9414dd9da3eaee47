"""When units are gathered and let go: around a module's forward, around its backward, at the end of
backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.autograd import hooks
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.tensors.tensor import Tensor
from rushlight.distributed.fsdp.unit import Unit, reduce_all


class Schedule:
    """What the modules below one root share: in which order they came, and what waits for the end of
    backward.
    """

    def __init__(self) -> None:
        self.order: list[Managed] = []  # of this iteration's forward, and before it of the last one's
        self.before: list[Managed] = []
        self.members: list[Managed] = []
        self.handles: list[Any] = []
        self.armed = False

    def begin(self) -> None:
        """The root's forward: what may have changed since is gathered anew."""
        for member in self.members:
            if member.unit is not None and not self.armed:
                member.unit.release()
        self.before, self.order = self.order, []

    def arm(self) -> None:
        """Have end() called when backward is through."""
        if not self.armed:
            self.armed = True
            hooks._runs.stack[0].at_end(self.end)

    def end(self) -> None:
        """All gradients have come: reduce what is left, wait, let go."""
        reduce_all([m.unit for m in self.members if m.unit is not None])
        for handle in self.handles:
            handle.remove()
        self.handles, self.armed = [], False

    def prefetch(self, member: Managed, step: int, order: list[Managed]) -> None:
        """Begin to gather what comes next to `member` in an order."""
        place = order.index(member) + step if member in order else -1
        unit = order[place].unit if 0 <= place < len(order) else None
        if unit is not None:
            unit.gather()


class Managed:
    """One wrapped module: its unit (None: no parameters of its own), and what it does around calls.

    reshard: whether the parameters are let go after forward; None: unless this is the root.
    cast_inputs, output_dtype: mixed precision of arguments and results.
    """

    def __init__(
        self,
        module: Any,
        unit: Unit | None,
        reshard: bool | None,
        cast_inputs: bool = True,
        output_dtype: Any = None,
    ) -> None:
        self.module, self.unit, self.reshard = module, unit, reshard
        self.cast_inputs, self.output_dtype = cast_inputs, output_dtype
        self.param_dtype: Any = None if unit is None or unit.compute is unit.dtype else unit.compute
        self.schedule: Schedule | None = None
        self.is_root: bool | None = None
        self.backward_prefetch = True
        self.forward_prefetch = False
        self.ahead: list[Any] = []  # what is gathered while this computes forward, and backward
        self.behind: list[Any] = []

    def lead(self, below: Callable[[Any], Managed | None]) -> None:
        """The first call: if nobody has, be the root of all that is managed below."""
        if self.schedule is not None:
            return
        self.schedule = Schedule()
        for module in self.module.modules():
            found = below(module)
            if found is not None and found.schedule in (None, self.schedule):
                found.schedule, found.is_root = self.schedule, found is self
                self.schedule.members.append(found)

    def before_forward(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Gather; the arguments, cast."""
        schedule: Any = self.schedule
        in_backward = bool(hooks._runs.stack)
        if in_backward:
            schedule.arm()  # a checkpoint computes this module again
        elif self.is_root:
            schedule.begin()
        if self.unit is not None:
            if not in_backward and torch.is_grad_enabled():
                self._watch_inputs(args, kwargs)
            self.unit.unshard()
            self.unit.show_whole()
        self._gather(self.ahead)
        if not in_backward and self not in schedule.order:
            schedule.order.append(self)
            if self.forward_prefetch:
                schedule.prefetch(self, 1, schedule.before)
        if self.is_root and self.unit is not None and self.unit.place.type != "cpu":
            args, kwargs = placed((args, kwargs), self.unit.place)
        if self.param_dtype is not None and self.cast_inputs:
            args, kwargs = cast((args, kwargs), self.param_dtype)
        return args, kwargs

    def _watch_inputs(self, args: Any, kwargs: Any) -> None:
        unit, schedule = self.unit, self.schedule
        if unit is None or schedule is None:
            return

        def arrived(_: torch.Tensor) -> None:
            unit.input_arrived()

        for t in flatten((args, kwargs))[0]:
            if isinstance(t, torch.Tensor) and t.requires_grad:
                unit.inputs, unit.taken = unit.inputs + 1, unit.taken + 1
                schedule.handles.append(t.register_hook(arrived))

    def after_forward(self, output: Any) -> Any:
        """Let go, unless backward follows at once; the result, which tells when backward comes."""
        if self.output_dtype is not None:
            output = cast(output, self.output_dtype)
        tracked = [t for t in flatten(output)[0] if isinstance(t, torch.Tensor) and t.requires_grad]
        if hooks._runs.stack:
            return output
        for t in tracked:
            t.register_hook(self._before_backward)
        if self.unit is not None:
            self.unit.show_shards()
            if self.reshard or (self.reshard is None and not self.is_root) or not tracked:
                self.unit.release()
        return output

    @staticmethod
    def _gather(others: list[Any]) -> None:
        for other in others:
            if other.unit is not None:
                other.unit.gather()

    def _before_backward(self, grad: Tensor) -> None:
        schedule: Any = self.schedule
        schedule.arm()
        if self.unit is None or self.unit.met:
            return
        self.unit.met = True
        self.unit.unshard()
        self.unit.show_whole()
        self._gather(self.behind)
        if self.backward_prefetch:
            schedule.prefetch(self, -1, schedule.order)


def placed(value: Any, where: Any) -> Any:
    """Tensors in a structure, on a device."""
    return tree_map(lambda v: v.to(where) if isinstance(v, torch.Tensor) else v, value)


def cast(value: Any, dtype: Any) -> Any:
    """Floating tensors in a structure, in a dtype."""
    return tree_map(
        lambda v: v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v, value
    )
