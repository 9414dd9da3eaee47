"""Compiled callables: eager at first, then recorded twice, then replayed while the guards hold.

The first record becomes the program. The second, of a later call, is what the program must equal: run on
the second call's inputs and from its starting state, every result must have the same bits. What differs
was computed by something that the recorder does not see, and the callable stays eager.
"""
from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight.autograd.node import AccumulateGrad
from rushlight.base.config import knobs
from rushlight.base.spans import NO_SPAN, SPANS, span
from rushlight.base.tape import TAPE
from rushlight.capture.guards import Guards, key_of
from rushlight.capture.program import Program, leaves, mapped
from rushlight.capture.recorder import Entry, Recorder, recording
from rushlight.tensor.generator import default_generator
from rushlight.tensor.tensor import Tensor, wrap

# How many kinds of arguments get a program of their own.
MOST_PROGRAMS = 8
_log = logging.getLogger("rushlight.capture")


class Plan:
    """What is known about one kind of arguments."""

    def __init__(self) -> None:
        self.calls = self.replays = self.broken = 0
        self.program: Program | None = None
        self.guards: Guards | None = None
        self.ready = False
        self.refusal = ""
        self.seconds = 0.0

    def refuse(self, why: str) -> None:
        """Stay eager from now on; `why` is for the report."""
        self.refusal, self.program, self.ready = why, None, False
        _log.info("not compiled: %s", why)


class Compiled:
    """A function that is replayed without Python where that is safe."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.plans: dict[Any, Plan] = {}
        self.label = f"Torch-Compiled Region: {getattr(function, '__qualname__', type(function).__name__)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TAPE:
            return self.function(*args, **kwargs)
        tensors, key = key_of(args, kwargs)
        plan = self.plans.get(key)
        if plan is not None and plan.ready:
            why = plan.guards.failure()  # type: ignore[union-attr]
            if not why:
                plan.replays += 1
                with span(self.label) if SPANS else NO_SPAN:
                    return plan.program.run(tensors)  # type: ignore[union-attr]
            plan = self._again(plan, key, why)
        return self._slowly(plan, key, tensors, args, kwargs)

    def _again(self, old: Plan, key: Any, why: str) -> Plan:
        """A guard has failed: begin anew, but not for ever."""
        _log.info("recorded again: %s", why)
        plan = self.plans[key] = Plan()
        plan.broken = old.broken + 1
        if plan.broken > MOST_PROGRAMS:
            plan.refuse(f"guards failed {plan.broken} times, at last this one: {why}")
        return plan

    def _slowly(self, plan: Plan | None, key: Any, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        if plan is None:
            plan = self.plans.setdefault(key, Plan())
            if key is None:
                plan.refuse("an argument can be neither compared nor hashed")
            elif len(self.plans) > MOST_PROGRAMS:
                plan.refuse(f"more than {MOST_PROGRAMS} kinds of arguments have come")
            elif any(t._g is not None for t in tensors):
                plan.refuse("an argument requires grad")
        plan.calls += 1
        if plan.refusal:
            return self.function(*args, **kwargs)
        start = time.perf_counter()
        with knobs.using(kernels="llvm"):
            if plan.calls == 1:
                found = self.function(*args, **kwargs)
            else:
                found = self._record(plan, tensors, args, kwargs)
        plan.seconds += time.perf_counter() - start
        if plan.refusal and self.fullgraph:
            raise RuntimeError(f"fullgraph=True, but the call cannot be compiled whole: {plan.refusal}")
        return found

    def _record(self, plan: Plan, tensors: list[Tensor], args: Any, kwargs: Any) -> Any:
        inputs = {id(t): wrap(t._a.copy("K"), t._k) for t in tensors}
        guards = Guards(self.function)
        recorder = Recorder(list(inputs.values()), guards.known())
        before = _State(guards, plan.program)
        own = mapped((args, kwargs), lambda t: inputs[id(t)])
        with recording(recorder):
            output = self.function(*own[0], **own[1])
        back = {id(own): given for given in tensors for own in (inputs[id(given)],)}
        if recorder.inputs_written:
            for t in tensors:
                t._a[...] = inputs[id(t)]._a
        why = recorder.refusal or _live_graph(output) or guards.failure()
        if why:
            plan.refuse(why)
        elif plan.program is None:
            plan.program, plan.guards = Program(recorder, [inputs[id(t)] for t in tensors], output), guards
            return plan.program.results(tensors)  # not the program's own memory
        else:
            program = Program(recorder, [inputs[id(t)] for t in tensors], output)
            why = before.difference(plan.program, program, tensors)
            if why:
                plan.refuse(why)
            plan.ready = not why
        return mapped(output, lambda t: back.get(id(t), t))


def _live_graph(output: Any) -> str:
    for t in leaves(output):
        if isinstance(t, Tensor) and t._g is not None and (
                t._g.__class__ is not AccumulateGrad and t._g.saved is not None):
            return ("a result's graph is still to be walked: compile the whole step, with backward() in it, "
                    "or call it under torch.no_grad()")
    return ""


class _State:
    """Memory and random numbers as they were before a call."""

    def __init__(self, guards: Guards, program: Program | None) -> None:
        arrays = [] if program is None else [*[a for _, a in guards.tensors], *program.written]
        self.held = [(a, a.copy()) for a in {id(a): a for a in arrays}.values()]
        self.random = default_generator.get_state()

    def difference(self, program: Program, second: Program, tensors: list[Tensor]) -> str:
        """How the program's results differ from the second record's; empty if they do not."""
        if [e.name for e in program.entries] != [e.name for e in second.entries]:
            return "two calls with arguments of one kind did different things"
        count = next((i for i, e in enumerate(program.entries) if e.kind == "call"), len(program.entries))
        expected = [[o.copy() for o in e.outs] for e in second.entries[:count]]
        after = [(a, a.copy()) for a, _ in self.held]
        drawn = default_generator.get_state()
        try:
            for a, values in self.held:
                a[...] = values
            default_generator.set_state(self.random)
            for own, t in zip(program.inputs, tensors, strict=True):
                own[...] = t._a
            return _compared(program, program.entries[:count], expected)
        finally:
            for a, values in after:
                a[...] = values
            default_generator.set_state(drawn)


def _compared(program: Program, entries: list[Entry], expected: list[list[Any]]) -> str:
    for entry, step, wanted in zip(entries, program.steps, expected, strict=False):
        with np.errstate(all="ignore"):
            step()
        for out, values in zip(entry.outs, wanted, strict=True):
            if out.tobytes() != values.tobytes():
                return f"{entry.name} at {entry.where} depends on something that cannot be repeated"
    return ""
