"""Steps of optimizers in a region (matching.py): the update of a bucket of parameters is an op like others.

An optimizer that steps element by element runs one kernel over a bucket of parameters, their gradients and
states (optim/elementwise.py). Its numbers (rates, counts) differ at each step, and are handed to the program
in memory of the update's own. What it writes to, anybody may see, so it is the last op of its segment: the
optimizer's step() settles the region when all buckets have been noted.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from functools import partial
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.core.layout import pointer
from rushlight._engine.dispatch.interpreters import STACK
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.recorder import Array, place_of, root
from rushlight._engine.trace.trace import Node, Spec, Step, TraceEntry


class Update:
    """The steps of one bucket of parameters; its attribute `plan` gives the bucket, while that is used."""

    name = "optimizer's step"

    def __init__(self, plan: Any) -> None:
        self.plan = weakref.ref(plan)
        self.kernel, self.states = plan.kernel, len(plan.names)
        # One more, as the kernel reads ahead.
        self.numbers = np.zeros(len(plan.kernel.scalars) + 1)
        self.pack = partial(Struct(f"{len(plan.kernel.scalars)}d").pack_into, self.numbers.data, 0)
        # The memory that is written to, or that the optimizer looks at, but for the parameters'.
        self.beside = frozenset([id(root(t._memory)) for t in plan.rest if isinstance(t, Tensor)])

    def apply(self, params: Sequence[Array | None], grads: Sequence[Array]) -> None:
        """Step them; params: None for those that nothing else in the segment knows."""
        plan: Any = self.plan()
        rows = [
            (own if p is None else p, g, *rest)
            for p, g, (own, *rest) in zip(params, grads, plan.fixed, strict=True)
        ]
        self.kernel(rows, self.numbers[:-1].tolist())

    def staged(self, params: Sequence[Array | None], grads: Sequence[Array]) -> Any:
        """The same as stages; None where there are none."""
        plan: Any = self.plan()
        rows = [
            (_same_place(own) if p is None else p, g, *map(_same_place, rest))
            for p, g, (own, *rest) in zip(params, grads, plan.fixed, strict=True)
        ]
        return self.kernel.staged([*chain.from_iterable(rows)], self.numbers)


def is_update(entry: Any) -> bool:
    """Whether an entry is an optimizer's step."""
    return isinstance(getattr(entry.function, "__self__", None), Update)


def _same_place(a: Array) -> Array:
    """The same memory, without a hold on it."""
    if not a.flags.c_contiguous:
        return a
    memory: Any = (ctypes.c_uint8 * max(a.nbytes, 1)).from_address(pointer(a))
    return np.frombuffer(memory, a.dtype, a.size).reshape(a.shape)


class _Known:
    """An update that has been matched here: what it goes to, and what it is about.

    params: places of parameters that have come in, None for others. grads: what pending gradients hold.
    """

    __slots__ = ("grads", "node", "params", "update")

    def __init__(self, update: Update, node: Node, params: list[int | None], grads: list[Any]) -> None:
        self.update, self.node, self.params, self.grads = update, node, params, grads

    def __call__(self, region: Any, plan: Any) -> bool:
        """Take it, if it is that."""
        if not region.apart(self.update, plan, self.params):
            return False
        try:
            for p, hidden in zip(plan.params, self.grads):
                if p._grad._hidden is not hidden:
                    return False
        except AttributeError:
            return False
        with region.lock:
            if region.known.get(self.update) is not self:  # another thread has computed meanwhile
                return False
            region.node, region.known = self.node, self.node.known
        return True


class Updates:
    """What a region does with them."""

    # Of the region: buckets whose step is put off; what has come in by the op that is recorded.
    stepped: list[Any]
    entered: list[Any]
    # Of the region: where it stands, what that node knows, how many ops are pending, and what it records.
    node: Node
    known: dict[Any, Any]
    count: int
    recording: bool
    recorded: int

    def takes(self: Any) -> bool:
        """Whether an optimizer's step of this thread may be taken in."""
        return self.unit is None and self.program is None and self in STACK.modes

    def update(self: Any, plan: Any, numbers: Sequence[float]) -> bool:
        """Put off the step of a bucket with these numbers; False, with all else computed, where it is to be
        done at once.
        """
        own = plan.put_off
        if own is None or own.kernel is not plan.kernel:
            # One that comes again is worth a place in the trace.
            own = plan.put_off = Update(plan) if plan.often else None
            plan.often += 1
        taken: bool | None = False
        if own is not None and not plan.complex and self.takes():
            take = self.known.get(own)
            taken = (take is not None and take(self, plan)) or self._taken(own, plan)
        if taken:
            own.pack(*numbers)
            self.stepped.append(plan)
        elif taken is not None:
            self.settle()
        return bool(taken)

    def apart(self: Any, own: Update, plan: Any, places: Sequence[int | None]) -> bool:
        """Whether all that came in lies apart, what is stepped is known at these places, and nothing pending
        knows the states.
        """
        roots, inputs = self.met(), self.inputs
        if len(inputs) - len(self.real) != len(roots) or not own.beside.isdisjoint(roots):
            return False
        for p, place, held in zip(plan.params, places, plan.held):
            if place is None:
                if id(root(held)) in roots:
                    return False
            else:
                ref, a = inputs[place]
                if ref() is not p or a is not held:
                    return False
        return True

    def _taken(self: Any, own: Update, plan: Any) -> bool | None:
        """The long way: match the update; None if it is to be done now, and that is recorded."""
        with self.lock:
            if self.node.parent is None:  # nothing is pending
                return False
            self.count, self.entered = self.node.count, []
            grads = [p._grad for p in plan.params]
            known = [self.place_of(g) for g in grads]
            params = [self.place_of(p) for p in plan.params]
            if any(k is None or k in self.arrays for k in known):
                return False
            if any(p is not None and p not in self.inputs for p in params) or not self.apart(
                own, plan, params
            ):
                return False
            key = own, LOCAL.inference, *params, *known
            child = self.node.next.get(key)
            if child is None or child.step is None or child.seen < 2 or self.recording:
                self._recorded(child, key, own, plan, params, grads, known)
                return None
            hidden = [getattr(g, "_hidden", None) for g in grads]
            if None not in hidden:
                self.node.known[own] = _Known(own, child, params, hidden)
            self.node, self.known = child, child.known
            return True

    def _recorded(
        self: Any,
        child: Node | None,
        key: Any,
        own: Update,
        plan: Any,
        params: list[int | None],
        grads: list[Tensor],
        known: list[int],
    ) -> None:
        """Note the update, which is done at once."""
        if not self.recording:
            for t, place in zip(*self.compute(self.node), strict=True):
                self.places[id(t)] = place, weakref.ref(t)
        self.recording, self.known = True, {}
        self.recorded += 1
        if child is None:
            child = self.node.next[key] = Node(self.node)
        if not child.seen:
            places = [p for p in params if p is not None]
            numbers = iter(range(len(places)))
            operands = (
                [None if place is None else _spec(next(numbers), a) for place, a in zip(params, plan.held)],
                [_spec(k, g._array) for k, g in enumerate(grads, len(places))],
            )
            entry = TraceEntry("write", own.apply, operands, (), place_of())
            step = Step([entry], [], [], tuple, None, [], [*range(len(places))], True)
            child.learn(step, [*places, *known], self.count, [])
            child.resemble(self.node.known_at(own, step))
            self.trace.nodes += 1
        child.seen += 1
        self.node = child

    def undo(self: Any) -> None:
        """Steps that were put off will not be done, as what comes before them has failed."""
        for plan in self.stepped:
            plan.back()
        self.stepped = []


def _spec(operand: int, a: Array) -> Spec:
    return Spec(~operand, 0, a.shape, a.strides, a.dtype)
