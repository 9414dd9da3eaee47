"""torch._prims.executor: functions that are traced anew at each call, and then run as a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core.pytree import flatten
from rushlight._prims.context import TorchRefsMode
from rushlight.fx.experimental.proxy_tensor import make_fx


def execute(gm: Any, *args: Any, executor: str = "aten", executor_parameters: Any = None) -> Any:
    """The results of a graph; "aten" is the one executor that there is."""
    if executor != "aten":
        raise ValueError(f"Received unexpected value for 'executor': {executor}. Allowed values are: aten.")
    return gm.forward(*args)


def make_traced(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that traces `fn` at each call and runs the graph; executor="aten" may be said there."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        executor = str(kwargs.pop("executor", "aten"))
        leaves, tree = flatten((args, kwargs))

        def of_leaves(given: Any) -> Any:
            own, named = tree.unflatten(given)
            return fn(*own, **named)

        with TorchRefsMode():
            graph = make_fx(of_leaves)(leaves)
        return execute(graph, leaves, executor=executor)

    return traced
