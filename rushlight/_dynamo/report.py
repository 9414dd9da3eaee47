"""What compile() made of a function, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._dynamo.api import compile as made
from rushlight._engine.core.recording import TAPE
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.trace.compiled import Compiled, Plan
from rushlight._engine.trace.eager_backends import Eager
from rushlight._engine.trace.graph import text, whole


class Explanation:
    """`str()` is the report; `graph_count` programs of `op_count` steps, and `break_reasons`: why calls stay
    eager.
    """

    def __init__(self, runner: Any) -> None:
        self.runner = runner
        plans = [p for p in runner.plans.values() if isinstance(p, Plan)]
        self.break_reasons = [p.refusal for p in plans if p.refusal]
        self.graph_break_count = len(self.break_reasons)
        programs = [p.program for p in plans if p.program is not None]
        self.graph_count, self.op_count = len(programs), sum(len(p.entries) for p in programs)

    def __str__(self) -> str:
        name = getattr(self.runner.function, "__qualname__", type(self.runner.function).__name__)
        if isinstance(self.runner, Eager):
            return f"{name}: the Python runs at every call; nothing is compiled"
        lines = [f"{name}: {len(self.runner.plans)} kinds of arguments"]
        for plan in self.runner.plans.values():
            lines += _plan(plan)
        trace = self.runner.trace
        if trace.nodes:
            lines.append(f"  matching knows {trace.nodes} ops, and has compiled {trace.compiled} programs")
            lines += [f"    {often} times: {why}" for why, often in trace.reasons.items()]
        return "\n".join(lines)

    __repr__ = __str__


def _plan(plan: Plan) -> list[str]:
    if plan.refusal:
        return [f"  {'matched' if plan.choice.matches else 'eager'}: {plan.refusal}"]
    if plan.program is None:
        return ["  not recorded yet: the first call is a warm-up"]
    memory: Any = plan.program.plan
    size = f"{memory.size / 1e6:.2f} MB of memory, {memory.apart / 1e6:.2f} MB if no results shared it"
    runs = [step for part in plan.program.parts for step in part.replay]
    native = sum(isinstance(step, Run) for step in runs)
    state = f"replayed {plan.replays} times" if plan.ready else "recorded, to be checked by one more call"
    lines = [
        f"  {state}; {len(plan.program.entries)} steps in {native} native calls and "
        f"{len(runs) - native} of Python, {size}; recording and compiling took {plan.seconds:.3f} s"
    ]
    return lines + [f"    {line}" for line in text(whole(plan.program.parts)).splitlines()]


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """What compile() makes of `function`.

    Given what compile() returned, the report is on its calls so far; given a plain function or Module, it is
    called four times with `args` in mode "reduce-overhead" first: to warm up, twice to record, to replay.
    """
    if TAPE:
        raise RuntimeError("explain() was called while a function is recorded")
    runner = getattr(function, "_runner", None)
    if not isinstance(runner, (Compiled, Eager)):
        runner = made(function, mode="reduce-overhead")._runner
        for _ in range(4):
            runner(*args, **kwargs)
    return Explanation(runner)
