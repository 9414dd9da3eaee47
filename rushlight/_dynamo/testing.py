"""torch._dynamo.testing: backends that count and keep the graphs that they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rushlight import Tensor, fx, stack
from rushlight._dynamo.registry import eager, lookup_backend
from rushlight._dynamo.utils import clone_inputs, same as same
from rushlight.utils._pytree import tree_leaves


def _ops(gm: fx.GraphModule) -> int:
    return sum("call" in node.op for node in gm.graph.nodes)


class CompileCounter:
    """A backend that runs graphs as they are; frame_count graphs of op_count calls have come."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += _ops(gm)
        return eager(gm, example_inputs)

    def clear(self) -> None:
        """Count from zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """As CompileCounter, with another backend behind it; graphs: those that have come."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.clear()

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += _ops(gm)
        self.graphs.append(gm)
        made: Callable[..., Any] = lookup_backend(self.backend)(gm, example_inputs)
        return made

    def clear(self) -> None:
        """Count from zero and keep nothing."""
        self.frame_count = self.op_count = 0
        self.graphs: list[fx.GraphModule] = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[fx.GraphModule] = []

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        self.graphs.append(gm)
        return eager(gm, example_inputs)


def same_two_models(gm: Any, opt_gm: Any, example_inputs: Sequence[Any], only_fwd: bool = False) -> bool:
    """Whether two modules give the same for copies of these inputs, also the same gradients."""
    ways = (run_fwd_maybe_bwd(m, clone_inputs(example_inputs), only_fwd) for m in (gm, opt_gm))
    return same(*ways, equal_nan=True)


def run_fwd_maybe_bwd(gm: Any, args: Any, only_fwd: bool = False) -> tuple[Any, list[Any]]:
    """(what a module gives, the gradients of its parameters and inputs); only_fwd: no gradients."""
    leaves = [t for t in (*gm.parameters(), *args) if isinstance(t, Tensor)]
    for t in leaves:
        t.grad = None
    found = gm(*args)
    outs = [t for t in tree_leaves(found) if isinstance(t, Tensor) and t.requires_grad]
    if outs and not only_fwd:
        stack([t.sum() for t in outs]).sum().backward()
    return found, [t.grad for t in leaves]
