"""What compile() made of a function, in words."""

from __future__ import annotations

from collections.abc import Callable
from traceback import FrameSummary
from typing import Any, NamedTuple

from rushlight._dynamo.api import compile as made
from rushlight._dynamo.kinds import Said
from rushlight._engine.core.recording import TAPE
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.trace.compiled import Compiled, Specialization
from rushlight._engine.trace.eager_backends import Eager, heard, segments as recorded
from rushlight._engine.trace.graph import text, whole
from rushlight._engine.trace.trace import Node


class Explanation:
    """`str()` is the report; `graph_count` programs of `op_count` steps, and `break_reasons`: why calls stay
    eager.
    """

    def __init__(self, runner: Any) -> None:
        self.runner = runner
        plans = [p for p in runner.plans.values() if isinstance(p, Specialization)]
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


def _plan(plan: Specialization) -> list[str]:
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
        runner = getattr(made(function, mode="reduce-overhead"), "_runner")
        for _ in range(4):
            runner(*args, **kwargs)
    return Explanation(runner)


class GraphCompileReason(NamedTuple):
    """Why a graph ends: in words, and the program's line."""

    reason: str
    user_stack: list[FrameSummary]
    graph_break: bool = True


class ExplainOutput(NamedTuple):
    """What torch._dynamo.explain(f)(*args) tells: the graphs of one call, and why there are several.

    ops_per_graph: the names of the ops in each; graphs: modules of these. Guards have no list of their own
    here, and nothing is compiled: out_guards is empty, so is compile_times.
    """

    graph_count: int
    graph_break_count: int
    break_reasons: list[GraphCompileReason]
    op_count: int
    ops_per_graph: list[list[str]]
    graphs: list[Any]
    out_guards: tuple[()] = ()
    compile_times: str = ""

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, why in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {why.reason}", "    User Stack:"]
            lines += [f"      {frame}" for frame in why.user_stack]
        for number, ops in enumerate(self.ops_per_graph, 1):
            lines.append(f"Ops per Graph {number}: {', '.join(ops)}")
        return "\n".join(lines)


def segments(function: Callable[..., Any], *args: Any, **kwargs: Any) -> ExplainOutput:
    """Call `function` once, and tell into which segments its ops fall."""
    if TAPE:
        raise RuntimeError("explain() was called while a function is recorded")
    function = getattr(getattr(function, "_runner", None), "function", function)
    trace, _ = heard(function, args, kwargs)
    graphs, modules = list[list[str]](), list[Any]()
    for nodes in recorded(trace):
        ops = [(n.said[0] or n.said[1]) for n in nodes]
        graphs.append([getattr(op, "name", getattr(op, "__name__", "?")) for op in ops])
        modules.append(_module(nodes[-1]))
    reasons = [
        GraphCompileReason(why, [FrameSummary(*_line(where), name="?")] if where else [])
        for why, where, _ in trace.ends or ()
    ]
    counts = len(graphs), max(len(graphs) - 1, 0)
    return ExplainOutput(*counts, reasons, sum(map(len, graphs)), graphs, modules)


def _module(node: Node) -> Any:
    """A module of the ops up to a node, which gives what the last of them has made."""
    from rushlight._dynamo.graphs.writing import graph_of  # few programs need torch.fx

    nodes = [n for n in node.path() if n.step is not None and n.said is not None]
    if not nodes:
        return None
    last: Any = nodes[-1]
    return graph_of(nodes, [last.first + i for i in range(len(last.step.results))], Said())[1]


def _line(where: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    return file, int(line) if line.isdigit() else 0
